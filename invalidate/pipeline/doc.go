// Package pipeline turns what was written into what is no longer served: events
// go into a queue, batches of them become plans, and a consumer carries plans out,
// layer by layer. Afterwards it warms up what will be asked for next.
//
// It is for programs that keep what they built without a time to live, and so
// live by their invalidations: a site that keeps objects, and pages made of them.
// Package cache needs it not; its Invalidate is a good stage.
//
// # How a program uses it
//
// Each write ends with [Consumer.Apply], in the service that writes, not in a
// handler: then jobs, imports and every API take the same path.
//
//	queue := pipeline.NewQueue(pipeline.QueueConfig{})
//	events, err := pipeline.NewConsumer(queue, pipeline.Config{
//		Stages: []pipeline.Stage{
//			{Name: "objects", Invalidate: objects.Invalidate},
//			{Name: "responses", Invalidate: responses.Invalidate},
//		},
//		Warm: warm,
//	})
//	go events.Run(ctx)
//	…
//	err = events.Apply(ctx, pipeline.Event{
//		Key: job.ID, Subject: "post:7",
//		Invalidates: []string{"post:7", "slug:" + old, "slug:" + slug, "posts", "feed"},
//		Warms:       []string{"post:7", "page /" + slug, "page /"},
//	})
//
// At the start of the program, an event with nothing but Warms fills the caches.
// A stage finds what is made of an entity in an index, such as
// [github.com/twofold-go/twofold/invalidate.Registry].
//
// # What it promises
//
//  1. When Consume, or Apply, returns nil, every event up to its epoch has been
//     applied by all stages, in their order, after it was published. It does not
//     matter how many are queued before it, or who applied it.
//  2. No event's invalidation is lost. A queue without room becomes one
//     invalidation of everything; a stage that fails keeps the plan, to be tried
//     again by the next writer and by Run; both hold up what comes later, in the
//     bounded queue.
//  3. Every entity of every event is invalidated. Only for warming up does the
//     last event about a subject take the place of those before; see [Merge].
//  4. Whoever drains the queue, warm-ups are done, apart from it: a writer neither
//     waits for them nor takes them away. They end when the subject's last word is
//     another, and are dropped, and counted, when there are too many.
//  5. A warm-up stores nothing that is older than an invalidation of what it
//     names; see [Warmup].
//
// # Order
//
// A write comes before its event, its event before a round drains it. A round,
// one at a time, first overtakes the warm-ups that the plan reaches, then goes
// through the stages, then hands over its own warm-ups and moves the epoch that
// has been applied. Overtaking comes first for the same reason that fences come
// before removal: what a warm-up has stored until then, the stages find; what it
// would store later, it may not.
//
// While a plan is in the stages, or waits to be tried again, warm-ups that it
// reaches do not start: they would be stored and invalidated at once.
//
// A stage that has passed a plan is not called again for it; one that failed is,
// whatever it did.
//
// # Stale loads in the stages
//
// A page that was being rendered while its stage was called is old, and must not
// be stored afterwards. That is the stage's affair, as only it knows when a load
// began: it notes the invalidations before the load and looks again before it
// stores, as package cache does by fences. A stage with an index of
// its own notes an entry there before the entry becomes visible.
package pipeline
