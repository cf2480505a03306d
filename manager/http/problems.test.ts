import { type FastifyReply, type FastifyRequest } from 'fastify'
import { expect, test, vi } from 'vitest'
import { AppError } from '#manager/contract'
import { silentLog } from '../log.ts'
import { createErrorHandler, toAppError } from './problems.ts'

const failed = (code: string) => Object.assign(new Error('from the database'), { code })

test.each([
  ['53100', 'disk_full'],
  ['22021', 'bad_request'],
  ['22P05', 'bad_request'],
  ['53300', 'unavailable'],
  ['57P01', 'unavailable'],
  ['57014', 'unavailable'],
  ['55P03', 'unavailable'],
  ['ECONNREFUSED', 'unavailable'],
  ['23505', 'internal'],
])('a failure %s of the database is reported as %s', (code, told) => {
  expect(toAppError(failed(code)).code).toBe(told)
})

test('an AppError is passed on unchanged', () => {
  const error = new AppError('forbidden')
  expect(toAppError(error)).toBe(error)
})

test.each([
  ['a client that breaks its body off is no failure of ours', true, 0],
  ['a connection to the database that is reset is one', false, 1],
])('%s', (_what, readableAborted, logged) => {
  const error = vi.fn()
  const request = { id: '1', method: 'POST', raw: { readableAborted }, routeOptions: { url: '/', bodyLimit: 1 } }
  const reply = { request, raw: { closed: false }, code: () => reply, type: () => reply, send: () => reply }
  const handle = createErrorHandler({ ...silentLog, error })
  handle(
    Object.assign(new Error('aborted'), { code: 'ECONNRESET' }),
    request as unknown as FastifyRequest,
    reply as unknown as FastifyReply,
  )
  expect(error).toHaveBeenCalledTimes(logged)
})
