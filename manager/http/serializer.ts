import { serializerCompiler } from 'fastify-type-provider-zod'
import { type Log } from '../log.ts'

type Serialize = (data: unknown) => string

/**
 * Serializes answers by their schemas. A list item that does not match its schema must not hide the other items from users: it is left out,
 * and logged once.
 */
export function createSerializerCompiler(log: Log): typeof serializerCompiler {
  const told = new Set<string>()
  const compile: typeof serializerCompiler = route => {
    const serialize: Serialize = serializerCompiler(route)
    return data => {
      try {
        return serialize(data)
      } catch (error) {
        if (!hasItems(data)) throw error
        const items = data.items.filter(item => {
          try {
            serialize({ ...data, items: [item] })
            return true
          } catch (itemError) {
            tell(route.url, item, itemError)
            return false
          }
        })
        return serialize({ ...data, items })
      }
    }
  }

  function tell(url: string, item: unknown, error: unknown): void {
    const id = String((item as { id?: unknown } | null)?.id)
    const key = `${url} ${id}`
    if (told.has(key) || told.size >= MOST_TOLD) return
    told.add(key)
    log.error({ err: error, route: url, id }, 'an item of a list does not have its form, and is left out')
  }

  return compile
}

const MOST_TOLD = 1_000

function hasItems(data: unknown): data is { items: unknown[] } {
  return typeof data === 'object' && data !== null && 'items' in data && Array.isArray(data.items)
}
