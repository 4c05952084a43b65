/** What the database is called within a data directory; apart, because commands that open none name it too. */
export const DATABASE_FILE = 'gateway.db'
