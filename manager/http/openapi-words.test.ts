import { expect, test } from 'vitest'
import { operationTexts, withDefaultsInWords } from './openapi-words.ts'

test('the first sentence of an operation is its summary, and the description says who may call it', () => {
  const summary = 'End it, e.g. at night. It is safe to repeat. `HEAD` too.'
  expect(operationTexts({ summary, access: 'superadmin', byPerson: true })).toEqual({
    summary: 'End it, e.g. at night.',
    description: `${summary} For superadmins. Not with a keypair: it takes a sign-in with a password or a provider.`,
  })
  expect(operationTexts({ summary: 'One user', access: 'user' })).toEqual({
    summary: 'One user',
    description: 'One user',
  })
})

test('defaults are said in words, in every part of a schema, and a field may be called default', () => {
  const schema = {
    type: 'object',
    required: ['default'],
    properties: {
      default: { type: 'string', default: 'a' },
      size: { type: 'object', description: 'Per kernel.', default: {} },
      told: { type: 'integer', description: 'Default: chosen.', default: 4 },
      list: { type: 'array', items: { anyOf: [{ type: 'boolean', default: false }, { enum: [{ default: 1 }] }] } },
    },
  }
  expect(withDefaultsInWords(schema)).toEqual({
    type: 'object',
    required: ['default'],
    properties: {
      default: { type: 'string', description: 'Default: "a".' },
      size: { type: 'object', description: 'Per kernel. Default: {}.' },
      told: { type: 'integer', description: 'Default: chosen.' },
      list: {
        type: 'array',
        items: { anyOf: [{ type: 'boolean', description: 'Default: false.' }, { enum: [{ default: 1 }] }] },
      },
    },
  })
})
