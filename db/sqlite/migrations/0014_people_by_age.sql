-- People are listed newest first, a page at a time.
CREATE INDEX people_by_age ON people (created_at, id);
