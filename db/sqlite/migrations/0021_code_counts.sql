-- A network may ask for many codes: the counts of an address and of a network are found without reading all of the last hour's.
CREATE INDEX mail_code_counts_by_email ON mail_code_counts (email_key, at);
CREATE INDEX mail_code_counts_by_peer ON mail_code_counts (peer, at);
