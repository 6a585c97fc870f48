-- +goose Up

-- The keys of items no longer depend on the scheme of a URL, nor on the other items of a list.
UPDATE OR IGNORE raw_items SET item_key = 'guid:' || substr(guid, 1, length(guid) - length(url) - 1) || char(31) || url,
    guid = substr(guid, 1, length(guid) - length(url) - 1)
    WHERE url <> '' AND item_key = 'guid:' || guid AND substr(guid, -length(url) - 1) = ' ' || url;
UPDATE OR IGNORE raw_items SET item_key = replace(item_key, char(31) || 'https://', char(31) || 'http://') WHERE instr(item_key, char(31)) > 0;
UPDATE OR IGNORE raw_items SET item_key = 'guid:http://' || substr(item_key, 14) WHERE item_key LIKE 'guid:https://%';
UPDATE OR IGNORE raw_items SET item_key = 'url:http://' || substr(item_key, 13) WHERE item_key LIKE 'url:https://%';

-- +goose Down
SELECT 1; -- the next fetch stores such items again
