import { describe, expect, test } from 'vitest'
import { isConsolePage, isTrusted } from './console-origin.ts'
import { isEndpointUrl } from '../settings/settings-file.ts'
import { isExternalUrlAllowed } from './external-urls.ts'

describe('trusted frames', () => {
  test.each(['berth://console/', 'berth://console/#/terminal/1', 'berth://console/index.html?x=1'])(
    '%s is our page',
    url => expect(isConsolePage(url)).toBe(true),
  )
  test.each([
    'berth://console.evil/',
    'berth://evil@console/',
    'https://console/',
    'file:///berth://console',
    // Answers of a server are of our origin, but no pages of ours.
    'berth://console/api/v1/me',
    'berth://console/index.html/../api/v1/me',
    'berth://console//',
    'berth://console/assets/app.js',
    'about:blank',
    '',
  ])('%s is not our page', url => expect(isConsolePage(url)).toBe(false))
  test('only the top frame of our own page is trusted', () => {
    const url = 'berth://console/'
    expect(isTrusted({ senderFrame: { url, parent: null } })).toBe(true)
    expect(isTrusted({ senderFrame: { url, parent: {} } })).toBe(false)
    expect(isTrusted({ senderFrame: { url: 'https://evil.example/', parent: null } })).toBe(false)
    expect(isTrusted({ senderFrame: { url: 'berth://console/api/v1/me', parent: null } })).toBe(false)
    expect(isTrusted({ senderFrame: null })).toBe(false)
  })
})

test('a server is reached by https, or by http on this computer', () => {
  const accepted = ['https://berth.example', 'http://127.0.0.1:8400', 'http://[::1]:8400', 'http://localhost:8400']
  const refused = [
    'http://berth.example',
    'http://127.0.0.1.evil.example',
    'https://me:secret@berth.example',
    'ftp://x',
  ]
  expect([...accepted, ...refused].filter(isEndpointUrl)).toEqual(accepted)
})

describe('external links', () => {
  test.each([
    'https://docs.docker.com/',
    'http://jupyter--abcdefghijkl.localhost:43001/?berth_ticket=x',
    'http://127.0.0.1:43001/lab',
    'sftp://work@127.0.0.1:40022/',
    'vscode://vscode-remote/ssh-remote+berth-demo/home/work',
  ])('%s may be opened', url => expect(isExternalUrlAllowed(url)).toBe(true))
  test.each([
    'http://example.com/',
    'http://localhost.evil.example/',
    'https://user:password@example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'smb://server/share',
    'ssh://-oProxyCommand=calc',
    'vscode://some.extension/run?cmd=x',
    'vscode://file/etc/passwd',
    'vscode://vscode-remote/ssh-remote+evil.example/home/work',
    'vscode://vscode-remote/ssh-remote+-oProxyCommand=calc/home/work',
    'sftp://work@evil.example/',
    'https://example.com/"&calc',
    'https://example.com/\nx',
    '',
  ])('%j is refused', url => expect(isExternalUrlAllowed(url)).toBe(false))
})
