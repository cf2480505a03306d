/**
 * Requests as common clients of 2026 send them by default. Heads were recorded from the programs, or taken from their sources and
 * documentation if we could not run them (browsers of Apple and Microsoft, .NET).
 *
 * `{host}` and `{origin}` are the address that the client was given.
 */

/** A request; its body, if any, is sent as it is. */
export interface Sent {
  readonly client: string
  readonly method: string
  /** Without leading `/`; may have a query. */
  readonly path: string
  readonly version?: '1.0'
  /** Lines of the head, framing included. */
  readonly head: readonly string[]
  /** Bytes as latin1 text. */
  readonly body?: string
  /** The client waits for `100 Continue` before it sends the body. */
  readonly waits?: boolean
  /** Sent by a page, with an Origin that the console refuses but an app's origin does not. */
  readonly isNullOrigin?: boolean
}

const H2C = (settings: string) => ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', `HTTP2-Settings: ${settings}`]

/** Programs: the fields that each sends with every request. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  curl: ['Host: {host}', 'User-Agent: curl/8.11.1', 'Accept: */*'],
  'curl --compressed': [
    'Host: {host}',
    'User-Agent: curl/8.11.1',
    'Accept: */*',
    'Accept-Encoding: deflate, gzip, br, zstd',
  ],
  'curl --http2': ['Host: {host}', 'User-Agent: curl/8.11.1', 'Accept: */*', ...H2C('AAMAAABkAAQAoAAAAAIAAAAA')],
  'Java HttpClient': [
    'Connection: Upgrade, HTTP2-Settings',
    'Host: {host}',
    'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
    'Upgrade: h2c',
    'User-Agent: Java-http-client/21.0.5',
  ],
  'Java HttpURLConnection': ['User-Agent: Java/21.0.5', 'Host: {host}', 'Accept: */*', 'Connection: keep-alive'],
  'Apache HttpClient 5.4': [
    'Accept-Encoding: gzip, x-gzip, deflate',
    'Host: {host}',
    'Upgrade: TLS/1.2',
    'Connection: keep-alive, Upgrade',
    'User-Agent: Apache-HttpClient/5.4.1 (Java/21.0.5)',
  ],
  'Apache HttpClient 4.5': [
    'Host: {host}',
    'Connection: Keep-Alive',
    'User-Agent: Apache-HttpClient/4.5.14 (Java/17.0.13)',
    'Accept-Encoding: gzip,deflate',
  ],
  OkHttp: ['Host: {host}', 'Connection: Keep-Alive', 'Accept-Encoding: gzip', 'User-Agent: okhttp/4.12.0'],
  requests: [
    'Host: {host}',
    'User-Agent: python-requests/2.32.3',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'Accept: */*',
    'Connection: keep-alive',
  ],
  httpx: [
    'Host: {host}',
    'Accept: */*',
    'Accept-Encoding: gzip, deflate',
    'Connection: keep-alive',
    'User-Agent: python-httpx/0.28.1',
  ],
  urllib: ['Accept-Encoding: identity', 'Host: {host}', 'User-Agent: Python-urllib/3.13', 'Connection: close'],
  aiohttp: ['Host: {host}', 'Accept: */*', 'Accept-Encoding: gzip, deflate', 'User-Agent: Python/3.13 aiohttp/3.11.9'],
  'Go net/http': ['Host: {host}', 'User-Agent: Go-http-client/1.1', 'Accept-Encoding: gzip'],
  '.NET HttpClient': ['Host: {host}'],
  '.NET with a trace': ['Host: {host}', 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'],
  PowerShell: [
    'Host: {host}',
    'User-Agent: Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.26100; en-US) PowerShell/7.4.6',
    'Accept-Encoding: gzip, deflate, br',
  ],
  wget: [
    'Host: {host}',
    'User-Agent: Wget/1.24.5',
    'Accept: */*',
    'Accept-Encoding: identity',
    'Connection: Keep-Alive',
  ],
  'Node fetch': [
    'host: {host}',
    'connection: keep-alive',
    'accept: */*',
    'accept-language: *',
    'sec-fetch-mode: cors',
    'user-agent: node',
    'accept-encoding: gzip, deflate',
  ],
  axios: [
    'Accept: application/json, text/plain, */*',
    'User-Agent: axios/1.7.9',
    'Accept-Encoding: gzip, compress, deflate, br',
    'Host: {host}',
    'Connection: close',
  ],
  Ruby: [
    'Accept-Encoding: gzip;q=1.0,deflate;q=0.6,identity;q=0.3',
    'Accept: */*',
    'User-Agent: Ruby',
    'Connection: close',
    'Host: {host}',
  ],
  LWP: ['TE: deflate,gzip;q=0.3', 'Connection: TE, close', 'Host: {host}', 'User-Agent: libwww-perl/6.77'],
  Guzzle: ['Host: {host}', 'User-Agent: GuzzleHttp/7'],
  reqwest: ['accept: */*', 'host: {host}'],
  'a proxy of an office': [
    'Host: {host}',
    'Proxy-Connection: keep-alive',
    'Via: 1.1 office',
    'Cache-Control: max-age=0',
  ],
}

const FORM = 'name=%ED%95%9C&text=a+b&empty='
const JSON_BODY = '{"a":"\xed\x95\x9c","b":[1,2,3]}'
const ANY_BYTES = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join('')
const chunked = (...parts: string[]) =>
  [...parts.map(part => `${part.length.toString(16)}\r\n${part}\r\n`), '0\r\n\r\n'].join('')
const length = (body: string) => `Content-Length: ${body.length}`

/** Requests that every program sends, with the fields that they add. */
const SHAPES: Readonly<Record<string, Omit<Sent, 'client'>>> = {
  GET: { method: 'GET', path: 'plain', head: [] },
  'GET with a query': { method: 'GET', path: "q;v=1/%ED%95%9C/a%2Fb//x?a=1&a=2&c=%20+'", head: [] },
  HEAD: { method: 'HEAD', path: 'plain', head: [] },
  form: {
    method: 'POST',
    path: 'form',
    head: ['Content-Type: application/x-www-form-urlencoded', length(FORM)],
    body: FORM,
  },
  JSON: { method: 'POST', path: 'json', head: [length(JSON_BODY), 'Content-Type: application/json'], body: JSON_BODY },
  chunks: {
    method: 'POST',
    path: 'chunks',
    head: ['Transfer-Encoding: chunked', 'Content-Type: application/octet-stream'],
    body: chunked(ANY_BYTES, 'x'.repeat(70_000), 'end'),
  },
  'empty POST': { method: 'POST', path: 'empty', head: ['Content-Length: 0'] },
  'PUT that waits': {
    method: 'PUT',
    path: 'put/file.bin',
    head: [length(ANY_BYTES.repeat(400)), 'Expect: 100-continue'],
    body: ANY_BYTES.repeat(400),
    waits: true,
  },
  'DELETE with a body': {
    method: 'DELETE',
    path: 'item?id=1',
    head: [length(JSON_BODY), 'Content-Type: application/json'],
    body: JSON_BODY,
  },
  OPTIONS: { method: 'OPTIONS', path: 'plain', head: [] },
}

const CHROME = [
  'Host: {host}',
  'Connection: keep-alive',
  'sec-ch-ua: "Chromium";v="142", "Not_A Brand";v="99"',
  'sec-ch-ua-mobile: ?0',
  'sec-ch-ua-platform: "Linux"',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7',
]
/** Browsers of three vendors, on the systems where they differ. */
const BROWSERS: Readonly<Record<string, readonly string[]>> = {
  Chrome: CHROME,
  'Chrome on Android': CHROME.map(line => line.replace('?0', '?1').replace('"Linux"', '"Android"')),
  Edge: CHROME.map(line => line.replace('"Linux"', '"Windows"').replace('537.36 (', '537.36 Edg/142.0.0.0 (')),
  Firefox: [
    'Host: {host}',
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
    'Accept-Language: en-US,en;q=0.5',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'DNT: 1',
    'Sec-GPC: 1',
    'Connection: keep-alive',
    'Priority: u=0, i',
  ],
  Safari: [
    'Host: {host}',
    'Priority: u=3, i',
    'User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
    'Accept-Language: en-GB,en;q=0.9',
    'Accept-Encoding: gzip, deflate',
    'Connection: keep-alive',
  ],
}

const PAGE = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
const site = (value: string, mode: string, dest: string) => [
  `Sec-Fetch-Site: ${value}`,
  `Sec-Fetch-Mode: ${mode}`,
  `Sec-Fetch-Dest: ${dest}`,
]
const NAVIGATED = [PAGE, 'Upgrade-Insecure-Requests: 1', 'Sec-Fetch-User: ?1']
const MULTIPART = `--b\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\nContent-Type: application/octet-stream\r\n\r\n${ANY_BYTES}\r\n--b--\r\n`

const VISITS: Readonly<Record<string, Omit<Sent, 'client'>>> = {
  navigation: { method: 'GET', path: 'page', head: [...NAVIGATED, ...site('none', 'navigate', 'document')] },
  'link from elsewhere': {
    method: 'GET',
    path: 'page?from=mail',
    head: [...NAVIGATED, ...site('cross-site', 'navigate', 'document'), 'Referer: https://mail.example.org/'],
  },
  'form of a page': {
    method: 'POST',
    path: 'login',
    head: [
      ...NAVIGATED,
      ...site('same-origin', 'navigate', 'document'),
      'Origin: {origin}',
      'Referer: {origin}/reflect/page',
      'Cache-Control: max-age=0',
      'Content-Type: application/x-www-form-urlencoded',
      length(FORM),
    ],
    body: FORM,
  },
  'form of a page without referrer': {
    method: 'POST',
    path: 'login',
    head: [
      ...NAVIGATED,
      ...site('same-origin', 'navigate', 'document'),
      'Origin: null',
      'Content-Type: application/x-www-form-urlencoded',
      length(FORM),
    ],
    body: FORM,
    isNullOrigin: true,
  },
  fetch: {
    method: 'POST',
    path: 'api',
    head: [
      ...site('same-origin', 'cors', 'empty'),
      'Accept: application/json',
      'Origin: {origin}',
      'Content-Type: application/json',
      length(JSON_BODY),
    ],
    body: JSON_BODY,
  },
  upload: {
    method: 'POST',
    path: 'upload',
    head: [
      ...site('same-origin', 'cors', 'empty'),
      'Accept: */*',
      'Origin: {origin}',
      'Content-Type: multipart/form-data; boundary=b',
      length(MULTIPART),
    ],
    body: MULTIPART,
  },
  image: {
    method: 'GET',
    path: 'logo.png',
    head: [...site('same-origin', 'no-cors', 'image'), 'Accept: image/avif,image/webp,*/*;q=0.8'],
  },
  'part of a film': {
    method: 'GET',
    path: 'film.mp4',
    head: [...site('same-origin', 'no-cors', 'video'), 'Accept: */*', 'Range: bytes=0-', 'If-Range: "v1"'],
  },
  'known file': {
    method: 'GET',
    path: 'app.js',
    head: [
      ...site('same-origin', 'no-cors', 'script'),
      'If-None-Match: "v1"',
      'If-Modified-Since: Sat, 28 Nov 2026 00:00:00 GMT',
    ],
  },
  'event stream': {
    method: 'GET',
    path: 'events',
    head: [
      ...site('same-origin', 'cors', 'empty'),
      'Accept: text/event-stream',
      'Cache-Control: no-cache',
      'Pragma: no-cache',
    ],
  },
}

const ODD: readonly Sent[] = [
  {
    client: 'HTTP/1.0 of a monitor',
    method: 'GET',
    path: 'plain',
    version: '1.0',
    head: ['Host: {host}', 'User-Agent: check_http/2.4'],
  },
  {
    client: 'ab -k',
    method: 'GET',
    path: 'plain',
    version: '1.0',
    head: ['Connection: Keep-Alive', 'Host: {host}', 'User-Agent: ApacheBench/2.3', 'Accept: */*'],
  },
  {
    client: 'HTTP/1.0 with a body',
    method: 'POST',
    path: 'form',
    version: '1.0',
    head: ['Host: {host}', length(FORM)],
    body: FORM,
  },
  {
    client: 'GET with a body',
    method: 'GET',
    path: '_search',
    head: ['Host: {host}', length(JSON_BODY)],
    body: JSON_BODY,
  },
  {
    client: 'WebDAV',
    method: 'PROPFIND',
    path: 'dav/',
    head: ['Host: {host}', 'Depth: 1', length('<a/>'), 'Content-Type: text/xml'],
    body: '<a/>',
  },
  {
    client: 'fields that repeat',
    method: 'GET',
    path: 'plain',
    head: ['Host: {host}', 'X-A: 1', 'x-a: 2', 'Accept: a', 'Accept: b', 'X-Empty:'],
  },
  {
    client: 'a field in UTF-8',
    method: 'GET',
    path: 'plain',
    head: ['Host: {host}', 'X-Name: \xed\x95\x9c\xea\xb8\x80'],
  },
  {
    client: 'long fields, both ways',
    method: 'GET',
    path: 'long',
    head: ['Host: {host}', `X-Long: ${'a'.repeat(40_000)}`],
  },
  { client: 'a long field', method: 'GET', path: 'plain', head: ['Host: {host}', `X-Long: ${'a'.repeat(12_000)}`] },
  {
    client: 'extensions of chunks',
    method: 'POST',
    path: 'chunks',
    head: ['Host: {host}', 'Transfer-Encoding: chunked'],
    body: '5;ext=1\r\nhello\r\n0\r\n\r\n',
  },
]

export const REQUESTS: readonly Sent[] = [
  ...Object.entries(PROGRAMS).flatMap(([name, fields]) =>
    Object.entries(SHAPES).map(([shape, sent]) => ({
      ...sent,
      client: `${name}: ${shape}`,
      head: [...fields, ...sent.head],
    })),
  ),
  ...Object.entries(BROWSERS).flatMap(([name, fields]) =>
    Object.entries(VISITS).map(([shape, sent]) => ({
      ...sent,
      client: `${name}: ${shape}`,
      head: [...fields, ...sent.head],
    })),
  ),
  ...ODD,
]

/** Handshakes of WebSockets; the key is that of RFC 6455. */
const SOCKET = [
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
]
const DEFLATE = 'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits'
export const SOCKETS: Readonly<Record<string, readonly string[]>> = {
  Chrome: [
    ...CHROME.filter(line => !line.startsWith('Connection')),
    'Pragma: no-cache',
    'Origin: {origin}',
    ...SOCKET,
    DEFLATE,
  ],
  Firefox: [
    ...(BROWSERS['Firefox'] ?? []).filter(line => !line.startsWith('Connection')),
    'Sec-Fetch-Site: same-origin',
    'Origin: {origin}',
    ...SOCKET.map(line => line.replace('Connection: ', 'Connection: keep-alive, ')),
    'Sec-WebSocket-Extensions: permessage-deflate',
  ],
  'Python websockets': ['Host: {host}', ...SOCKET, DEFLATE, 'User-Agent: Python/3.13 websockets/14.1'],
  'Go gorilla': ['Host: {host}', 'User-Agent: Go-http-client/1.1', ...SOCKET],
  'ws of Node': [...SOCKET, DEFLATE, 'Host: {host}'],
  '.NET': ['Host: {host}', ...SOCKET.map(line => line.replace('websocket', 'WebSocket'))],
  Java: [
    'Connection: Upgrade',
    'Host: {host}',
    ...SOCKET.filter(line => !line.startsWith('Connection')),
    'Content-Length: 0',
  ],
}
