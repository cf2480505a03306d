import { expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { createHostSetup } from './host-setup.ts'

const BUNDLE = { path: '/x/bundle.tar.gz', sha256: 'ab'.repeat(32), bytes: 7, digest: 'cd'.repeat(32) }

const open = () =>
  createHostSetup({
    agents: {
      invitation: token =>
        token.startsWith('good')
          ? Promise.resolve({
              url: 'http://127.0.0.1:1',
              token,
              join: 'berth-join:x',
              fingerprint: undefined,
              replaces: true,
            })
          : Promise.reject(new AppError('join_token_invalid')),
    },
    bundles: {
      get: () => Promise.resolve(BUNDLE),
      find(sha256) {
        if (sha256 === BUNDLE.sha256) return BUNDLE
        throw new AppError('not_found')
      },
    },
    tickets: { opens: (ticket, sha256) => ticket === 'ticket' && sha256 === BUNDLE.sha256 },
  })

test('script and bundle need the token of a join string', async () => {
  const setup = open()
  expect(await setup.script('good')).toContain(`sha256='${BUNDLE.sha256}'\n#!/bin/sh`)
  expect(await setup.script('good')).toContain("replaces='1'\n")
  await expect(setup.script('bad')).rejects.toMatchObject({ code: 'join_token_invalid' })
  await expect(setup.bundle('bad', BUNDLE.sha256)).rejects.toMatchObject({ code: 'join_token_invalid' })
  await expect(setup.bundle('good', '00')).rejects.toMatchObject({ code: 'not_found' })
  expect((await setup.bundle('ticket', BUNDLE.sha256)).path).toBe(BUNDLE.path)
  await expect(setup.bundle('ticket', '00')).rejects.toMatchObject({ code: 'join_token_invalid' })
  await expect(setup.script('ticket')).rejects.toMatchObject({ code: 'join_token_invalid' })
})

test('downloads are few at a time, for a token and in all; one that ends makes room', async () => {
  const setup = open()
  const take = (token: string) => setup.bundle(token, BUNDLE.sha256)
  const first = await take('good')
  await take('good')
  await expect(take('good')).rejects.toMatchObject({ code: 'rate_limited', detail: { cause: 'host_downloads' } })
  for (const token of ['1', '2', '3', '4', '5', '6']) await take(`good${token}`)
  await expect(take('good7')).rejects.toMatchObject({ code: 'rate_limited' })
  first[Symbol.dispose]()
  await take('good7')
  await expect(take('good8')).rejects.toMatchObject({ code: 'rate_limited' })
})
