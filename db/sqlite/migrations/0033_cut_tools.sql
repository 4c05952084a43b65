-- Types of the vendor's tools that were cut from a request because they had no price (a JSON list); null for none.
ALTER TABLE activity ADD COLUMN cut_tools TEXT;
