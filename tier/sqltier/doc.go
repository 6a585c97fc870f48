package sqltier
