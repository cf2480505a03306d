import { z } from 'zod'
import { FromAgent, FromManager, REQUESTS } from '#agent/contract'
import { type Random } from './random.ts'
import { type Schema, type Shaping, valueOf } from './shapes.ts'

/** Real ids, labels and the like, so that generated messages are about existing objects. */
export interface Known {
  readonly ids: readonly string[]
  /** Labels of containers. */
  readonly labels: readonly unknown[]
}

/** Texts that fit patterns of the contract: names of apps, images, devices, containers. */
const NAMES = [
  'a',
  'jupyter',
  'sshd',
  'GPU-0',
  'berth/python:3.13',
  `sha256:${'a'.repeat(64)}`,
  '/lab',
  'x'.repeat(300),
]
/** The largest message that both ends accept is 16 MiB; a larger one ends the connection. */
const HUGE_BYTES = 2 * 2 ** 20

const schemaOf = (type: z.ZodType) => z.toJSONSchema(type, { io: 'input', unrepresentable: 'any' }) as Schema

/** Every message of one direction, as the contract describes it; requests and replies with the inputs and values of their names. */
export const FROM_AGENT = messages(FromAgent.options)
export const FROM_MANAGER: readonly Schema[] = [
  ...messages(FromManager.options),
  ...Object.entries(REQUESTS).map(([name, { input }]) => ({
    type: 'object',
    required: ['type', 'id', 'name', 'input'],
    properties: {
      type: { const: 'request' },
      id: { type: 'integer' },
      name: { const: name },
      input: schemaOf(input),
    },
  })),
]

/** Schema of an agent's answer to each request. */
export const REPLIES = Object.fromEntries(
  Object.entries(REQUESTS).map(([name, { reply }]) => [name, schemaOf(reply)]),
) as Readonly<Record<keyof typeof REQUESTS, Schema>>

function messages(options: readonly z.ZodType[]): readonly Schema[] {
  return options.map(schemaOf)
}

export function shapingOf(random: Random, { ids, labels }: Known): Shaping {
  return {
    // A message is right but for few of its parts, or wrong all over: both reach other code.
    wrong: random.pick([0, 0.004, 0.06]),
    anyOf: value => (labels.length > 0 && value.chance(0.7) ? value.pick(labels) : value.json()),
    textOf(text, { format, pattern }) {
      if (format === 'uuid' || text.chance(0.05))
        return ids.length > 0 && text.chance(0.95) ? text.pick(ids) : text.text()
      if (format === 'date-time') return new Date(text.int(2 ** 31) * 1000).toISOString()
      const fitting = pattern === undefined ? NAMES : NAMES.filter(name => new RegExp(pattern, 'u').test(name))
      return fitting.length > 0 && text.chance(0.9) ? text.pick(fitting) : text.text()
    },
  }
}

/** Content of one WebSocket message: mostly the text of a message, whole or damaged, and sometimes bytes. */
export function frameOf(random: Random, schemas: readonly Schema[], known: Known): string | Buffer {
  const value = valueOf(random, random.pick(schemas), shapingOf(random, known), 8)
  const text = JSON.stringify(twisted(random, value))
  if (random.chance(0.85)) return text
  return random.pick<() => string | Buffer>([
    () => text.slice(0, random.int(text.length)),
    () => text + text,
    () => text.replace(/"/, () => random.text(3)),
    () => '['.repeat(random.int(50_000)),
    () => `{"type":"report","kernels":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
    () => text.replace(/\}$/, `,"filler":"${'x'.repeat(random.chance(0.02) ? HUGE_BYTES : 1_000)}"}`),
    () => random.bytes(random.int(200)),
    () => Buffer.from(text),
    () => '',
  ])()
}

/** The same, with a part of it missing, doubled or exchanged. */
function twisted(random: Random, value: unknown): unknown {
  if (random.chance(0.7) || typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const at = random.int(entries.length)
  switch (random.int(4)) {
    case 0:
      return Object.fromEntries(entries.toSpliced(at, 1))
    case 1:
      return Object.fromEntries(entries.map(([key], index) => [key, entries[(index + 1) % entries.length]?.[1]]))
    case 2:
      return Object.fromEntries([...entries, ['__proto__', random.json()], ['constructor', random.json()]])
    default:
      return Object.fromEntries(
        entries.map(([key, part]: [string, unknown]) => [
          key,
          Array.isArray(part) ? Array.from({ length: random.int(300) }, () => part[0] as unknown) : part,
        ]),
      )
  }
}
