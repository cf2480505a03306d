import { expect, test } from 'vitest'
import { createClient } from './client.ts'
import { AppError } from './errors.ts'

test.each([
  ['a coded error', new AppError('not_signed_in'), 'not_signed_in'],
  ['any other error', new TypeError('fetch failed'), 'unavailable'],
])('%s of the fetch that was handed in reaches the caller with its code', async (_, error, code) => {
  const api = createClient({ baseUrl: '', fetch: () => Promise.reject(error) })
  await expect(api.me()).rejects.toMatchObject({ code })
})
