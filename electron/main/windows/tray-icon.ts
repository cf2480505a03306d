/** 32 × 32 PNG of the mark, small enough to live in the source. */
export const TRAY_ICON =
  'data:image/png;base64,' +
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAAAhUlEQVR42u2XSxKAIAxDuYF39GTeVPfqKAkkzYLMsGFo+xaln9YS' +
  'te3HqTilwbsg1ME/IVzBXyHcwR8QjPFdNoA/yQBQTQVgJQNA7oYBUKfIexiASdQhADbDe+0WQD5AeRJGfEPEqa0S2ktxeTOKaMcl' +
  'A8ksLQB6MlYC5C0mEatZxHLq1gU6d6Rp7SQ1fQAAAABJRU5ErkJggg=='
