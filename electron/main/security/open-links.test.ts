import { expect, test } from 'vitest'
import { createLinks } from './open-links.ts'

/** Buttons of the question. */
const [OPEN, COPY, CANCEL] = [0, 1, 2]

function setUp(response: number, checkboxChecked = false, linkHosts: string[] = [], browser = true) {
  const opened: string[] = []
  const copied: string[] = []
  const asked: string[] = []
  const raised: string[] = []
  const settings = {
    current: { linkHosts } as never as Parameters<typeof createLinks>[0]['settings']['current'],
    update(change: object) {
      Object.assign(settings.current, change)
      return Promise.resolve(settings.current)
    },
  }
  const links = createLinks({
    electron: {
      shell: { openExternal: url => Promise.resolve(void opened.push(url)) },
      clipboard: { writeText: text => Promise.resolve(void copied.push(text)) },
    },
    questions: {
      ask(options) {
        asked.push(`${options.message}\n${options.detail ?? ''}`)
        return Promise.resolve({ response, checkboxChecked })
      },
      raise: () => void raised.push('question'),
    },
    settings,
    hasBrowser: () => Promise.resolve(browser),
    lead: url => Promise.resolve(`http://127.0.0.1:1/led to ${url}`),
    language: () => 'en',
    log: { warn: (_detail, message) => expect.unreachable(message) },
  })
  return { links, opened, copied, asked, raised, settings }
}

test('a link of a text opens after a question with its host; the default is not to', async () => {
  const { links, opened, asked } = setUp(OPEN)
  await links.open('https://docs.example.com/a', 'text')
  expect(opened).toEqual(['https://docs.example.com/a'])
  expect(asked).toEqual([expect.stringContaining('Open docs.example.com in the browser?')])
  const refused = setUp(CANCEL, true)
  await refused.links.open('https://docs.example.com/a', 'text')
  expect([refused.opened, refused.settings.current.linkHosts]).toEqual([[], []])
})

test('the question names the host that the browser will ask, whatever is written around it', async () => {
  const { links, asked } = setUp(CANCEL)
  await links.open('https://berth.example.com.evil.example:8443/berth.example.com/', 'text')
  await links.open('https://раураl.example/', 'text')
  expect(asked[0]).toContain('Open berth.example.com.evil.example:8443 in')
  expect(asked[1]).toContain('Open xn--l-7sba6dbr.example in')
})

test('a host that the user has ticked is not asked for again, others are', async () => {
  const { links, opened, asked } = setUp(OPEN, true)
  await links.open('https://docs.example.com/a', 'text')
  await links.open('https://docs.example.com/b', 'text')
  expect(asked).toHaveLength(1)
  await links.open('https://docs.example.com:8443/', 'text')
  expect(asked).toHaveLength(2)
  expect(opened).toHaveLength(3)
})

test('a link can be copied instead', async () => {
  const { links, opened, copied } = setUp(COPY)
  await links.open('https://docs.example.com/a', 'text')
  expect([opened, copied]).toEqual([[], ['https://docs.example.com/a']])
})

test('a page cannot bury the user in questions', async () => {
  const { links, asked, raised } = setUp(CANCEL)
  await Promise.all(['a', 'b', 'c'].map(path => links.open(`https://docs.example.com/${path}`, 'text')))
  expect(asked).toHaveLength(1)
  expect(raised).toHaveLength(2)
})

test('links of Berth itself open at once; a text opens no program but the browser', async () => {
  const { links, opened, asked } = setUp(CANCEL)
  const folder = 'vscode://vscode-remote/ssh-remote+berth-demo/home/work'
  await links.open(folder, 'berth')
  await links.open('http://127.0.0.1:43001/lab', 'berth')
  expect([opened, asked]).toEqual([[folder, 'http://127.0.0.1:43001/lab'], []])
  await expect(links.open(folder, 'text')).rejects.toMatchObject({ code: 'forbidden' })
  await expect(links.open('file:///etc/passwd', 'berth')).rejects.toMatchObject({ code: 'forbidden' })
})

test('without a browser the address of an app can be copied, and its ticket goes nowhere else', async () => {
  const url = 'http://127.0.0.1:30001/lab?ticket=one-time'
  const { links, opened, copied, asked } = setUp(0, false, [], false)
  await links.open(url, 'berth')
  expect(opened).toEqual([])
  expect(asked).toEqual([expect.stringContaining('no browser')])
  expect(asked[0]).not.toContain('one-time')
  expect(copied).toEqual([url])
  const closed = setUp(1, false, [], false)
  await closed.links.open(url, 'berth')
  expect(closed.copied).toEqual([])
  // Other programs open links of their own schemes.
  await closed.links.open('vscode://vscode-remote/ssh-remote+berth-train/home/work', 'berth')
  expect(closed.opened).toHaveLength(1)
})

test('an address from Berth is hidden from other users of the computer, unless it is of this computer', async () => {
  const { links, opened } = setUp(OPEN)
  await links.open('https://login.example.org/authorize?state=s', 'berth')
  await links.open('http://jupyter-1.localhost:8401/?ticket=t', 'berth')
  await links.open('http://127.0.0.1:8401/', 'berth')
  await links.open('filezilla://x', 'berth').catch(() => undefined)
  await links.open('https://docs.example.com/a', 'text')
  expect(opened.filter(url => !url.startsWith('filezilla'))).toEqual([
    'http://127.0.0.1:1/led to https://login.example.org/authorize?state=s',
    'http://jupyter-1.localhost:8401/?ticket=t',
    'http://127.0.0.1:8401/',
    'https://docs.example.com/a',
  ])
})
