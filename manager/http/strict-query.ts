import { z } from 'zod'

/**
 * The schema of a query that refuses unknown fields: ignoring a filter would give a wrong answer. Checks of the schema as a whole are kept.
 *
 * @param query schema of a route; left out: the route has no query
 * @throws if the schema is not one object, whose fields are the only ones that can be known
 */
export function strictQuery(query: z.ZodType = z.object({})): z.ZodObject {
  if (!(query instanceof z.ZodObject)) throw new Error('the query of a route must be one object')
  const fields = Object.keys(query.shape)
  const { def } = query.strict()
  return query.clone({
    ...def,
    error: (issue: z.core.$ZodRawIssue) =>
      issue.code === 'unrecognized_keys' ? unknownFields(issue.keys, fields) : undefined,
  })
}

function unknownFields(unknown: readonly string[], fields: readonly string[]): string {
  const named = unknown.map(field => `"${field}"`).join(', ')
  const has = `has no ${unknown.length === 1 ? 'field' : 'fields'} ${named}`
  return fields.length === 0 ? `${has}, nor any other` : `${has}; it may have: ${fields.join(', ')}`
}
