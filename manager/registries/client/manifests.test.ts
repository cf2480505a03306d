import { expect, test } from 'vitest'
import { checkDigest, choosePlatform, digestOf, keptLabels, readConfig, readManifest, TagProblem } from './manifests.ts'

const digest = (digit: string) => `sha256:${digit.repeat(64)}`
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
const kindOf = (call: () => unknown) => {
  try {
    call()
  } catch (error) {
    return error instanceof TagProblem ? error.kind : String(error)
  }
  return 'fine'
}
const platforms = (...all: [os: string, architecture: string, variant?: string][]) => ({
  manifests: all.map(([os, architecture, variant], index) => ({
    digest: digest(String(index)),
    platform: { os, architecture, ...(variant ? { variant } : {}) },
  })),
})

test('the manifest for the platform of this machine is chosen', () => {
  const index = platforms(['linux', 'arm', 'v7'], ['linux', 'amd64'], ['linux', 'arm64', 'v8'], ['unknown', 'unknown'])
  expect(choosePlatform(index, 'amd64')).toBe(digest('1'))
  expect(choosePlatform(index, 'arm64')).toBe(digest('2'))
  expect(kindOf(() => choosePlatform(platforms(['windows', 'amd64'], ['linux', 's390x']), 'amd64'))).toBe('other')
})

test('manifests and indexes of Docker and of OCI are told apart, and other content is refused', () => {
  const config = { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digest('a'), size: 10 }
  expect(readManifest(bytes({ schemaVersion: 2, config, layers: [{ size: 5 }] }))).toHaveProperty('manifest')
  expect(readManifest(bytes({ schemaVersion: 2, ...platforms(['linux', 'amd64']) }))).toHaveProperty('index')
  expect(kindOf(() => readManifest(bytes({ schemaVersion: 1, history: [] })))).toBe('broken')
  expect(kindOf(() => readManifest(Buffer.from('{"schemaVersion":2,')))).toBe('broken')
  expect(kindOf(() => readManifest(bytes({ config: { ...config, digest: '../../etc' }, layers: [] })))).toBe('broken')
  const chart = { ...config, mediaType: 'application/vnd.cncf.helm.config.v1+json' }
  expect(kindOf(() => readManifest(bytes({ config: chart, layers: [] })))).toBe('other')
})

test('a configuration without labels is valid, one without an architecture is not', () => {
  expect(readConfig(bytes({ os: 'linux', architecture: 'amd64', config: { Labels: null } })).config?.Labels).toBeNull()
  expect(kindOf(() => readConfig(bytes({ os: 'linux' })))).toBe('broken')
})

test('content that does not match its digest is refused', () => {
  const body = bytes({ a: 1 })
  expect(kindOf(() => checkDigest(body, digestOf(body), 'configuration'))).toBe('fine')
  expect(kindOf(() => checkDigest(bytes({ a: 2 }), digestOf(body), 'configuration'))).toBe('broken')
})

test('only labels that Berth reads are kept, up to a length', () => {
  const labels = {
    'berth.image.title': 'A',
    'ai.backend.role': 'COMPUTE',
    maintainer: 'me',
    'berth.image.x': 'y'.repeat(70_000),
  }
  expect(keptLabels(labels)).toEqual({ 'berth.image.title': 'A', 'ai.backend.role': 'COMPUTE' })
})
