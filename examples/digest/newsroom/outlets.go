package newsroom

import "time"

// form is how an outlet publishes.
type form int

const (
	rssForm form = iota
	atomForm
	jsonForm
	siteForm // a page that names its feed
	pageForm // a page without one
	hackerNewsForm
	redditForm
	trendingForm
	apiForm
	nobodyForm // of a type that nobody can fetch
)

// outlet is somebody who publishes.
type outlet struct {
	slug, name string
	typ        string // of the source
	form       form
	topic      string
	daily      int // items a day
	listed     int // of these, how many an answer has

	every int    // minutes between fetches, in the source's config; 0: its type's
	query string // what the services are asked for
	gbk   bool   // the charset of its feed
	ttl   int    // minutes, as the feed says
	moved bool   // the source has the address of old
	dates bool   // Last-Modified beside or in place of an ETag
	bare  bool   // no ETag
	fault fault
}

// fault is how an outlet fails on the bad day: for so long, so long after it has begun.
type fault struct {
	kind     faultKind
	from, to time.Duration
}

type faultKind int

const (
	noFault     faultKind = iota
	brokenFault           // 500
	busyFault             // 429 with Retry-After
	awayFault             // 503
	cutFault              // 200 and half of it
	slowFault             // a moment late
)

// outlets are all of them, the most popular first.
func outlets() []outlet {
	const h = time.Hour
	return []outlet{
		{slug: "harbour-post", name: "The Harbour Post", typ: "rss", form: rssForm, topic: "en-city", daily: 24, listed: 12, ttl: 60, dates: true},
		{slug: "front-page", name: "Hacker News, front page", typ: "hackernews", form: hackerNewsForm, topic: "en-software", daily: 30, listed: 15, query: "top"},
		{slug: "makers", name: "Makers to follow", typ: "twitter_list", form: nobodyForm},
		{slug: "jiangcheng", name: "江城晚讯", typ: "rss", form: rssForm, topic: "zh-life", daily: 20, listed: 12, gbk: true, dates: true, bare: true},
		{slug: "kernel-kettle", name: "Kernel & Kettle", typ: "atom", form: atomForm, topic: "en-software", daily: 8, listed: 8},
		{slug: "ledger-daily", name: "Ledger Daily", typ: "rss", form: rssForm, topic: "en-business", daily: 18, listed: 12, every: 60, dates: true, fault: fault{brokenFault, 18 * h, 19 * h}},
		{slug: "trending-go", name: "GitHub trending: Go", typ: "github_trending", form: trendingForm, daily: 4, listed: 8, query: "go"},
		{slug: "yunduan", name: "云端周刊", typ: "atom", form: atomForm, topic: "zh-tech", daily: 10, listed: 8, dates: true},
		{slug: "tideline", name: "Tideline Science", typ: "rss", form: rssForm, topic: "en-science", daily: 9, listed: 8, ttl: 120},
		{slug: "tinyservers", name: "r/tinyservers", typ: "reddit", form: redditForm, topic: "en-software", daily: 16, listed: 12, query: "hot"},
		{slug: "northlight", name: "Northlight Observatory", typ: "website", form: siteForm, topic: "en-science", daily: 5, listed: 8},
		{slug: "weekender", name: "The Weekender's digest", typ: "digest_feed", form: rssForm, topic: "en-city", daily: 4, listed: 8},
		{slug: "margin-note", name: "The Margin Note", typ: "json", form: jsonForm, topic: "en-business", daily: 7, listed: 8, every: 60, fault: fault{busyFault, 19 * h, 20 * h}},
		{slug: "liangzi", name: "量子早报", typ: "json", form: jsonForm, topic: "zh-science", daily: 9, listed: 8, every: 60, fault: fault{awayFault, 20 * h, 20*h + 30*time.Minute}},
		{slug: "climate-desk", name: "Open Climate Desk", typ: "custom_api", form: apiForm, topic: "en-science", daily: 12, listed: 12},
		{slug: "signal-noise", name: "Signal to Noise", typ: "atom", form: atomForm, topic: "en-software", daily: 6, listed: 8, every: 60, fault: fault{cutFault, 17 * h, 17*h + 30*time.Minute}},
		{slug: "haian", name: "海岸科学", typ: "website", form: siteForm, topic: "zh-science", daily: 6, listed: 8},
		{slug: "show", name: "Hacker News, show", typ: "hackernews", form: hackerNewsForm, topic: "en-software", daily: 14, listed: 15, query: "show"},
		{slug: "old-ropewalk", name: "The Old Ropewalk", typ: "rss", form: rssForm, topic: "en-city", daily: 5, listed: 8, moved: true, every: 120},
		{slug: "slowhardware", name: "r/slowhardware", typ: "reddit", form: redditForm, topic: "en-software", daily: 8, listed: 12, query: "new"},
		{slug: "hangqing", name: "行情快照", typ: "custom_api", form: apiForm, topic: "zh-life", daily: 24, listed: 12},
		{slug: "transit", name: "Velden transit, state of service", typ: "website", form: pageForm, topic: "en-city", daily: 6, listed: 1, every: 60},
		{slug: "field-kitchen", name: "Field Kitchen", typ: "rss", form: rssForm, topic: "en-city", daily: 3, listed: 8, bare: true, every: 60, fault: fault{slowFault, 18 * h, 21 * h}},
		{slug: "trending-all", name: "GitHub trending, the week", typ: "github_trending", form: trendingForm, daily: 2, listed: 8, query: "all"},
		{slug: "yingjian", name: "硬件笔记", typ: "rss", form: rssForm, topic: "zh-tech", daily: 6, listed: 8, dates: true},
	}
}

// pack is a set of outlets that is offered to readers together.
type pack struct {
	slug, name, description string
	outlets                 []string
}

// packs are all of them, the most popular first; the first one is the default.
func packs() []pack {
	return []pack{
		{"essentials", "Essentials", "A bit of everything, in two languages.", []string{"harbour-post", "front-page", "jiangcheng", "makers", "ledger-daily", "yunduan", "tideline", "weekender"}},
		{"engineering", "Engineering", "Software, and those who make it.", []string{"front-page", "kernel-kettle", "trending-go", "tinyservers", "signal-noise", "show"}},
		{"zh-daily", "中文日报", "中文科技、科学与生活。", []string{"jiangcheng", "yunduan", "liangzi", "haian", "hangqing", "yingjian"}},
		{"science", "Science", "What was found out, and how.", []string{"tideline", "northlight", "liangzi", "climate-desk", "haian"}},
	}
}
