import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { newSecret, signatureOf } from './sign.ts'

const body = '{"type":"webhook.test","text":"한글"}'
const messageAt = (timestamp: number) => ({ id: 'msg_1', timestamp, body })
const headersOf = (signature: string, timestamp: number) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(timestamp),
  'webhook-signature': signature,
})
const now = () => Math.floor(Date.now() / 1000)

test('the library of the Standard Webhooks accepts a signature, with the present secret and with the one before', () => {
  const [secret, before] = [newSecret(), newSecret()]
  const timestamp = now()
  const headers = headersOf(signatureOf(messageAt(timestamp), [secret, before]), timestamp)
  for (const one of [secret, before]) expect(new Webhook(one).verify(body, headers)).toMatchObject({ text: '한글' })
})

test('it refuses another secret, another body and an old timestamp', () => {
  const secret = newSecret()
  const timestamp = now()
  const headers = headersOf(signatureOf(messageAt(timestamp), [secret]), timestamp)
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow()
  expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow()
  const old = timestamp - 3600
  expect(() => new Webhook(secret).verify(body, headersOf(signatureOf(messageAt(old), [secret]), old))).toThrow()
})
