/**
 * A request is answered within 10 s, of which writing its audit row may take 2. The server's limit for a statement (for example, one that
 * waits for a lock) is shorter than the limit after which we treat the server as hanging.
 */
export const STATEMENT_TIMEOUT_MS = 6_000
/** For a statement, for a connection that is opened, and for a free one. */
export const ANSWER_LIMIT_MS = 7_000
