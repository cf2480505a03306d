/**
 * Whether an If-None-Match field names the content with this ETag, or any content.
 *
 * @see RFC 9110 section 13.1.2
 */
export const namesEtag = (field: string | undefined, etag: string): boolean =>
  field !== undefined && (field === '*' || field.split(',').some(one => one.trim().replace(/^W\//, '') === etag))
