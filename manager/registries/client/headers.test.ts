import { expect, test } from 'vitest'
import { parseChallenges, parseNextLink } from './headers.ts'

test('challenges of registries are parsed', () => {
  expect(
    parseChallenges(
      'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:lab/x:pull,push"',
    ),
  ).toEqual([
    {
      scheme: 'bearer',
      parameters: {
        realm: 'https://auth.docker.io/token',
        service: 'registry.docker.io',
        scope: 'repository:lab/x:pull,push',
      },
    },
  ])
  expect(parseChallenges('Basic realm="basic-realm"')).toEqual([
    { scheme: 'basic', parameters: { realm: 'basic-realm' } },
  ])
  expect(parseChallenges('Negotiate, Basic realm=x').map(({ scheme }) => scheme)).toEqual(['negotiate', 'basic'])
  expect(parseChallenges('Bearer realm="a\\"b"')[0]?.parameters.realm).toBe('a"b')
  expect(parseChallenges('')).toEqual([])
})

test('the address of the next page is found among links', () => {
  expect(parseNextLink('</v2/_catalog?last=b&n=2>; rel="next"')).toBe('/v2/_catalog?last=b&n=2')
  expect(parseNextLink('<https://x/a>; rel=prev, <https://x/b>; rel=next')).toBe('https://x/b')
  expect(parseNextLink('<https://x/a>; rel="prev"')).toBeUndefined()
  expect(parseNextLink(null)).toBeUndefined()
})
