package logtest

// TransactionalInBubble is TestTransactional where waiting takes no time.
var TransactionalInBubble = transactionalInBubble
