import { type Page } from 'playwright-core'
import { launchBrowser, loadPage, saveData, SIZES } from '../fixtures/browser.ts'
import { type ConsoleDouble, startConsoleDouble } from './console-double.ts'
import { aWorld } from './console-world.ts'
import { type Scene } from './scene.ts'

/** A page in front of a stand-in for the manager, on which scenes are checked one after the other. */
export interface Stage extends AsyncDisposable {
  readonly page: Page
  readonly double: ConsoleDouble
  /** Complaints of the page since the list was cleared. */
  readonly problems: string[]
  /** Removes all traces of the previous scene, and sets up the world of this one. */
  clear(scene: Scene): Promise<void>
}

/** Stages of one browser: as many as are used at the same time. */
export interface Stages extends AsyncDisposable {
  take(): Promise<Stage>
  giveBack(stage: Stage): void
  isFree(stage: Stage): boolean
}

export async function openStages(): Promise<Stages> {
  const browser = await launchBrowser()
  const free: Stage[] = []

  /** A browser that keeps its page has compiled the program of the console: a new one takes twice as long for each scene. */
  async function open(): Promise<Stage> {
    const double = await startConsoleDouble(aWorld())
    const context = await browser.newContext({
      viewport: SIZES.small,
      colorScheme: 'light',
      reducedMotion: 'reduce',
      locale: 'en-GB',
    })
    await saveData(context)
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    page.on('console', message => {
      // A failed request is part of some scenes; a refused script, style or warning never is.
      const isRefusal = message.type() === 'error' && !message.text().includes('Failed to load resource')
      if (isRefusal || message.text().includes('[Vue')) problems.push(message.text())
    })
    return {
      page,
      double,
      problems,
      async clear({ world }) {
        // A document of the same origin without a program, which could store something again.
        await loadPage(page, `${double.url}/icon.svg`)
        await page.evaluate(() => {
          localStorage.clear()
          sessionStorage.clear()
        })
        await context.clearCookies()
        await page.setViewportSize(SIZES.small)
        await page.emulateMedia({ colorScheme: 'light' })
        double.reset(aWorld(world))
        problems.length = 0
      },
      async [Symbol.asyncDispose]() {
        await context.close()
        await double[Symbol.asyncDispose]()
      },
    }
  }

  return {
    take: async () => free.pop() ?? (await open()),
    giveBack: stage => void free.push(stage),
    isFree: stage => free.includes(stage),
    async [Symbol.asyncDispose]() {
      for (const stage of free) await stage[Symbol.asyncDispose]()
      await browser.close()
    },
  }
}
