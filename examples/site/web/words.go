package web

import (
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
)

// words are the texts around the content, in one language.
type words struct {
	Other     content.Lang // the language to switch to
	OtherName string       // in that language

	Skip, Navigation, Tags, Archive, Feeds     string
	Newer, Older, PageOf, Published, Updated   string
	Tagged, From, NoPosts, NotFound, NotFound2 string
	Home, By                                   string

	dateLayout, monthLayout string
}

var vocabulary = map[content.Lang]words{
	content.English: {
		Other: content.Chinese, OtherName: "中文",
		Skip: "Skip to content", Navigation: "Main", Tags: "Tags", Archive: "Archive", Feeds: "Feeds",
		Newer: "Newer posts", Older: "Older posts", PageOf: "Page %d of %d", Published: "Published", Updated: "updated",
		Tagged: "Posts tagged “%s”", From: "Posts from %s", NoPosts: "There are no posts yet.",
		NotFound: "Not found", NotFound2: "There is nothing at this address.", Home: "To the home page", By: "by",
		dateLayout: "2 January 2006", monthLayout: "January 2006",
	},
	content.Chinese: {
		Other: content.English, OtherName: "English",
		Skip: "跳到正文", Navigation: "主导航", Tags: "标签", Archive: "归档", Feeds: "订阅",
		Newer: "较新的文章", Older: "较早的文章", PageOf: "第 %d 页，共 %d 页", Published: "发布于", Updated: "更新于",
		Tagged: "标签“%s”下的文章", From: "%s的文章", NoPosts: "还没有文章。",
		NotFound: "未找到", NotFound2: "这个地址下没有内容。", Home: "回到首页", By: "作者",
		dateLayout: "2006年1月2日", monthLayout: "2006年1月",
	},
}

// Date returns t as people read it.
func (w words) Date(t time.Time) string { return t.UTC().Format(w.dateLayout) }

// Month returns m as people read it.
func (w words) Month(m content.Month) string {
	from, _ := m.Bounds()
	return from.Format(w.monthLayout)
}
