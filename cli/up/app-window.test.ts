import { expect, test } from 'vitest'
import { browserPaths } from './app-window.ts'

test('on Linux the browsers are looked for in the folders of PATH, the most common one first', () => {
  const paths = browserPaths('linux', { PATH: '/usr/local/bin:/usr/bin' })
  expect(paths.slice(0, 2)).toEqual(['/usr/local/bin/google-chrome-stable', '/usr/bin/google-chrome-stable'])
  expect(paths).toContain('/usr/bin/chromium')
  expect(paths.indexOf('/usr/bin/google-chrome')).toBeLessThan(paths.indexOf('/usr/local/bin/chromium'))
  expect(browserPaths('linux', {})).toEqual([])
})

test('on macOS the browsers are looked for in the applications of all users and of this one', () => {
  const paths = browserPaths('darwin', { HOME: '/Users/ada' })
  expect(paths[0]).toBe('/Applications/Google Chrome.app/Contents/MacOS/Google Chrome')
  expect(paths[1]).toBe('/Users/ada/Applications/Google Chrome.app/Contents/MacOS/Google Chrome')
})

test('on Windows the browsers are looked for in the folders of programs that exist', () => {
  const paths = browserPaths('win32', {
    ProgramFiles: 'C:\\Program Files',
    LOCALAPPDATA: 'C:\\Users\\ada\\AppData\\Local',
  })
  expect(paths).toContain('C:\\Program Files\\Microsoft\\Edge\\Application\\msedge.exe')
  expect(paths).toContain('C:\\Users\\ada\\AppData\\Local\\Google\\Chrome\\Application\\chrome.exe')
})
