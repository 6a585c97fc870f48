package track_test

import "testing"

// The decisions of document 003, by its headings. The tables (architecture 2) are tested in package state, the retries
// of a run and the command line in the program.
func TestDocument(t *testing.T) {
	for _, c := range []struct {
		number string
		test   func(t *testing.T)
	}{
		{"architecture 3-1 and 3-3 new pages only, and what is processed is skipped", nothingNewFetchesNothing},
		{"architecture 3-2 what is not processed is processed by the next run", pendingSurvivesACrash},
		{"architecture 5 the feed has the last items", windowSlides},
		{"recovery 1 a page that fails is recorded, and tried again", failedPagesBackOff},
		{"recovery 1 a site that is down costs few attempts", siteThatGoesDownCostsFewAttempts},
		{"recovery 1 a damaged database", lostDatabase},
		{"recovery 2 pages that are gone are forgotten after 30 days", forgottenPagesLeaveATombstone},
		{"recovery 2 pages that are listed are not", listedPagesAreNeverForgotten},
		{"recovery 3 the first run takes the newest, and records all", baselineRecordsAll},
		{"risk 3 two runs of a site", lease},
	} {
		t.Run(c.number, c.test)
	}
}
