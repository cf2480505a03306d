import { describe, expect, test } from 'vitest'
import { RegistryName } from '#manager/contract'
import { referenceOf, registryAddress, registryOf } from './registry-address.ts'

const address = (name: string, url?: string, allowHttp = false) => registryAddress({ name, url, allowHttp })

describe('the address of a registry', () => {
  test.each([
    ['cr.example.org', undefined, 'https://cr.example.org'],
    ['cr.example.org:5000', 'https://cr.example.org:5000/', 'https://cr.example.org:5000'],
    ['cr.example.org:443', 'https://cr.example.org:443', 'https://cr.example.org:443'],
    ['docker.io', undefined, 'https://registry-1.docker.io'],
    ['docker.io', 'https://registry-1.docker.io', 'https://registry-1.docker.io'],
    ['localhost:5000', 'http://localhost:5000', 'http://localhost:5000'],
    ['127.0.0.1:5000', 'http://127.0.0.1:5000', 'http://127.0.0.1:5000'],
    ['[::1]:5000', 'http://[::1]:5000', 'http://[::1]:5000'],
  ])('the address of %s at %s is %s', (name, url, expected) => {
    expect(address(name, url)).toBe(expected)
  })

  test.each([
    ['cr.example.org', 'https://other.example.org', 'The name of a registry must be the host'],
    ['docker.io', 'https://docker.io', 'registry-1.docker.io'],
    ['cr.example.org', 'ftp://cr.example.org', 'https://'],
    ['cr.example.org', 'cr.example.org', 'https://'],
    ['cr.example.org', 'https://bob:pw@cr.example.org', 'only'],
    ['cr.example.org', 'https://cr.example.org/v2', 'only'],
    ['169.254.169.254', 'http://169.254.169.254', 'link-local'],
    ['[fe80::1]', 'https://[fe80::1]', 'link-local'],
    ['127.0.0.1.example.org', 'http://127.0.0.1.example.org', 'unencrypted'],
  ])('the registry %s cannot have the address %s', (name, url, why) => {
    expect(() => address(name, url)).toThrow(why)
  })

  test('another computer may be without TLS only if the admin allows it', () => {
    expect(() => address('10.0.0.5:5000', 'http://10.0.0.5:5000')).toThrow('unencrypted')
    expect(address('10.0.0.5:5000', 'http://10.0.0.5:5000', true)).toBe('http://10.0.0.5:5000')
  })
})

test.each([
  ['Index.Docker.io', 'docker.io'],
  ['CR.example.org:5000', 'cr.example.org:5000'],
  ['localhost', 'localhost'],
  ['registry:5000', 'registry:5000'],
])('the name %s is kept as %s', (name, kept) => {
  expect(RegistryName.parse(name)).toBe(kept)
})

test.each(['library', 'https://cr.example.org', 'cr.example.org/lab', '-a.b', 'a b.c'])(
  '%s is not a valid name',
  name => {
    expect(RegistryName.safeParse(name).success).toBe(false)
  },
)

test.each([
  ['debian:13', 'docker.io'],
  ['berth/python:3.13', 'docker.io'],
  ['docker.io/library/debian', 'docker.io'],
  ['index.docker.io/lab/x', 'docker.io'],
  ['cr.example.org/lab/x:1', 'cr.example.org'],
  ['localhost/x', 'localhost'],
  ['registry:5000/x', 'registry:5000'],
  ['debian@sha256:00', 'docker.io'],
])('%s is an image of %s', (reference, registry) => {
  expect(registryOf(reference)).toBe(registry)
})

test('references of images follow the rules of engines', () => {
  expect(referenceOf('docker.io', 'library/debian', '13')).toBe('debian:13')
  expect(referenceOf('docker.io', 'lab/python', '3')).toBe('lab/python:3')
  expect(referenceOf('cr.example.org:5000', 'library/debian', '13')).toBe('cr.example.org:5000/library/debian:13')
})
