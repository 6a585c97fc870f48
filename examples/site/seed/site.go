package seed

import "github.com/twofold-go/twofold/examples/site/content"

var navigation = []content.NavItem{
	{Lang: content.English, Label: "Home", URL: "/"},
	{Lang: content.English, Label: "About", URL: "/pages/about"},
	{Lang: content.English, Label: "Colophon", URL: "/pages/colophon"},
	{Lang: content.English, Label: "Contact", URL: "/pages/contact"},
	{Lang: content.Chinese, Label: "首页", URL: "/zh/"},
	{Lang: content.Chinese, Label: "关于", URL: "/zh/pages/guanyu"},
	{Lang: content.Chinese, Label: "联系", URL: "/zh/pages/lianxi"},
}

func settings(baseURL string) content.Settings {
	return content.Settings{
		BaseURL: baseURL, Author: "The Yard", PostsPerPage: 10, FeedItems: 20,
		Texts: map[content.Lang]content.Text{
			content.English: {Title: "Notes from the Yard", Description: "On programs, bread, walking and a garden of six by nine metres."},
			content.Chinese: {Title: "小院札记", Description: "关于程序、茶、走路，以及一个六米乘九米的小院。"},
		},
	}
}

func pages() []content.Page {
	all := []content.Page{
		{Slug: "about", Lang: content.English, Title: "About", Body: about},
		{Slug: "colophon", Lang: content.English, Title: "Colophon", Body: colophon},
		{Slug: "contact", Lang: content.English, Title: "Contact", Body: contact},
		{Slug: "guanyu", Lang: content.Chinese, Title: "关于", Body: guanyu},
		{Slug: "lianxi", Lang: content.Chinese, Title: "联系", Body: lianxi},
	}
	for i := range all {
		all[i].UpdatedAt = first
	}
	return all
}

const about = `We are a few people who work in one room above a yard, on programs that
keep other people's data, and who write down what we would otherwise forget.

## What you find here

Posts about caches, databases, the web and tests, because that is what we do
all day; and posts about bread, walking and a very small garden, because that is
what we talk about meanwhile. Some of it is in [Chinese](/zh/).

## How often

About twice a week. The [RSS](/rss.xml) and [Atom](/atom.xml) feeds carry the full
text, and there is an API for those who would rather read by program.
`

const colophon = `This site is one program and one file. The program is an example that comes
with a cache library; the file is its database.

- Posts are written in Markdown, turned into HTML and sanitised for every
  request that no cache answers.
- There are no scripts, no cookies and no pictures that you did not ask for.
- The type is whatever your machine is fond of.

Everything that can be seen here is made from the database alone, so two servers
with the same data answer with the same bytes.
`

const contact = `Letters reach us best. The door to the yard is open on working days from nine
to five, and there is usually somebody in the garden. Corrections are welcome:
say which post it is about, by its short link, and what it should say.
`

const guanyu = `我们几个人在一间临着小院的屋子里工作，写一些替别人保管数据的程序，也把不写下来就会忘掉的事情写在这里。

## 这里有什么

中文部分有关于缓存、茶和城市步行的文章；更多的文章是[英文](/)的。大约每周更新一次，
可以用 [RSS](/zh/rss.xml) 或 [Atom](/zh/atom.xml) 订阅，订阅里是全文。
`

const lianxi = `最好写信来。工作日九点到五点，小院的门是开着的。
如果发现错误，请告诉我们是哪一篇，以及应该怎么写。
`
