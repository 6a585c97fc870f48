//go:build !race

package entry

// Programs that are built without the race detector do not check for changed values.

type seal struct{}

func (it *Entry) PutSeal()        { _ = it.seal }
func (it *Entry) CheckUnchanged() {}
