import { expect, test } from 'vitest'
import { isWanted, repositoryOf } from './ensure-image.ts'

test.each([
  ['debian', 'debian'],
  ['debian:13', 'debian'],
  ['lab/python:3.13', 'lab/python'],
  ['cr.example:5000/lab/python', 'cr.example:5000/lab/python'],
  ['cr.example:5000/lab/python:3', 'cr.example:5000/lab/python'],
  [`lab/python@sha256:${'0'.repeat(64)}`, 'lab/python'],
])('the repository of %s is %s', (reference, repository) => {
  expect(repositoryOf(reference)).toBe(repository)
})

test('an image is identified by its id, or by its manifest if ids are digests of manifests', () => {
  const wanted = { digest: 'sha256:config', manifestDigest: 'sha256:manifest' }
  expect(isWanted({ id: 'sha256:config', repoDigests: [] }, wanted)).toBe(true)
  expect(isWanted({ id: 'sha256:manifest', repoDigests: ['lab/r@sha256:manifest'] }, wanted)).toBe(true)
  expect(isWanted({ id: 'sha256:other', repoDigests: ['lab/r@sha256:other'] }, wanted)).toBe(false)
  expect(isWanted({ id: 'sha256:other', repoDigests: ['lab/r@sha256:manifest'] }, { digest: 'sha256:config' })).toBe(
    false,
  )
  expect(isWanted({ id: 'sha256:any', repoDigests: [] }, { digest: '' })).toBe(true)
})
