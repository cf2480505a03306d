import { expect, test } from 'vitest'
import { TagProblem } from './client/manifests.ts'
import { type RegistryClient } from './client/registry-client.ts'
import { rescanRegistry } from './rescan.ts'

test('a page of tags may be longer than a call may have arguments', async () => {
  const tags = Array.from({ length: 200_000 }, (_, i) => `t${i}`)
  const client: RegistryClient = {
    ping: () => Promise.resolve(),
    async *repositories() {
      yield await Promise.resolve(['lab/python'])
    },
    async *tags() {
      yield await Promise.resolve(tags)
    },
    manifestDigest: () => Promise.resolve(undefined),
    image: () => Promise.reject(new TagProblem('other', 'The repository entry is not a container image.')),
  }
  const { progress } = await rescanRegistry({
    registry: { name: 'cr.example.org', projects: [] },
    client,
    async *listNamespace() {
      yield await Promise.resolve([])
    },
    known: new Map(),
    found: () => Promise.resolve(),
    report: () => undefined,
    signal: new AbortController().signal,
  })
  expect(progress).toMatchObject({ tagsTotal: tags.length, tagsDone: tags.length, problemsTotal: tags.length })
})
