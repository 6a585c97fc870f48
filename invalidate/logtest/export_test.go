package logtest

// TransactionalInBubble is TestTransactional in a bubble, where waiting takes no time.
var TransactionalInBubble = transactionalInBubble
