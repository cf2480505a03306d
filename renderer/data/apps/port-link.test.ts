import { expect, test } from 'vitest'
import { portLink } from './port-link.ts'

test.each([
  ['http://localhost:8888/lab?token=x', { app: 'http-8888', port: 8888, path: '/lab?token=x' }],
  ['http://127.0.0.1:6006', { app: 'http-6006', port: 6006, path: '/' }],
  ['http://0.0.0.0:7860/', { app: 'http-7860', port: 7860, path: '/' }],
  ['http://[::1]:5000/a', { app: 'http-5000', port: 5000, path: '/a' }],
  ['http://localhost/docs', { app: 'http-80', port: 80, path: '/docs' }],
  ['https://localhost:8443/?a=b', { app: 'https-8443', port: 8443, path: '/?a=b' }],
  ['https://127.0.0.1/', { app: 'https-443', port: 443, path: '/' }],
])('the link %s leads to a port of the session', (url, link) => expect(portLink(url)).toEqual(link))

test.each([
  'https://example.org:8443/',
  'http://example.org:8888/',
  'http://localhost.example.org:1/',
  'ftp://localhost:21/',
  'no link',
  'http://localhost:0/',
])('the link %s does not lead to a port of the session', url => expect(portLink(url)).toBeUndefined())
