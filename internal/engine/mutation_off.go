//go:build !race

package engine

// Programs that are built without the race detector do not check for changed values.

type seal struct{}

func (it *Entry) putSeal()        { _ = it.seal }
func (it *Entry) checkUnchanged() {}
