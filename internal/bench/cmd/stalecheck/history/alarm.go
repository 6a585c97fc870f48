package history

// alarms finds the false alarms of audits. An audit may call a hit stale if the write that its first
// load saw was not invalidated: the call failed, is still on its way, or was forgotten. It must not
// if the call was acknowledged within the bound after that load began, because it waits for the
// bound before it loads again.
//
// In a database the write and its invalidation are one transaction. Then known is nil, and every
// alarm is false.
func (v *Verdict) alarms(events []Event, known map[place]*acks, rules Rules) {
	for _, e := range events {
		if e.Type != Alarm {
			continue
		}
		ack, ok := known[place{e.Key, everywhere}].above(e.Version - 1)
		if limit := e.Start + int64(rules.Bound); known == nil || ok && ack.End <= limit {
			v.FalseAlarms = append(v.FalseAlarms, Violation{Read: e, Ack: ack, Staleness: e.Start - ack.End})
		}
	}
}
