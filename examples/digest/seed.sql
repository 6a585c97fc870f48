-- An example for `digest import`. The ids make a second import harmless.
INSERT OR IGNORE INTO sources (id, name, type, config, created_at, updated_at) VALUES
  (1, 'Go Blog', 'atom', '{"url": "https://go.dev/blog/feed.atom"}', unixepoch() * 1000, unixepoch() * 1000),
  (2, 'Hacker News', 'hackernews', '{"filter": "top"}', unixepoch() * 1000, unixepoch() * 1000);
INSERT OR IGNORE INTO source_packs (id, slug, name, is_default, created_at) VALUES (1, 'start', 'Start', 1, unixepoch() * 1000);
INSERT OR IGNORE INTO source_pack_sources (pack_id, source_id) VALUES (1, 1), (1, 2);
INSERT OR IGNORE INTO users (id, slug, name, email, options, created_at) VALUES
  (1, 'ann', 'Ann', 'ann@example.com', '{"style": "brief"}', unixepoch() * 1000);
