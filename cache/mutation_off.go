//go:build !race

package cache

// Programs that are built without the race detector do not check for changed values.

type seal struct{}

func (it *entry) putSeal()        { _ = it.seal }
func (it *entry) checkUnchanged() {}
