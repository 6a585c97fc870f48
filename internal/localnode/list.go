package localnode

// List is a queue of nodes. The shard's mutex protects it. The zero List is empty.
type List struct {
	Head, Tail *Node // newest, oldest
	Len        int
}

// PushNewest adds a node at the newest end.
func (l *List) PushNewest(n *Node) {
	n.Older, n.Newer = l.Head, nil
	if l.Head != nil {
		l.Head.Newer = n
	} else {
		l.Tail = n
	}
	l.Head = n
	l.Len++
}

// PushOldest adds a node at the oldest end.
func (l *List) PushOldest(n *Node) {
	n.Older, n.Newer = nil, l.Tail
	if l.Tail != nil {
		l.Tail.Older = n
	} else {
		l.Head = n
	}
	l.Tail = n
	l.Len++
}

// Unlink removes a node, which must be in the list.
func (l *List) Unlink(n *Node) {
	if n.Older != nil {
		n.Older.Newer = n.Newer
	} else {
		l.Tail = n.Newer
	}
	if n.Newer != nil {
		n.Newer.Older = n.Older
	} else {
		l.Head = n.Older
	}
	n.Older, n.Newer = nil, nil
	l.Len--
}
