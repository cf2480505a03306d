import { type ElectronSlice } from '../electron-slice.ts'
import { deepLinkOf, routeOfDeepLink } from './deep-link.ts'

export interface DeepLinks {
  /** Calls `show` at once, with the target of the latest earlier link, if any, and from now on with the target of each link. */
  follow(show: (route?: string) => void): void
}

export interface DeepLinksDeps {
  readonly app: Pick<ElectronSlice['app'], 'on'>
  readonly argv: readonly string[]
  readonly log: { warn(detail: object, message: string): void }
}

/**
 * Listens for links from the operating system, of this start and of later ones. Call before Electron is ready: by then, macOS
 * has reported the link that started the app.
 */
export function listenForDeepLinks({ app, argv, log }: DeepLinksDeps): DeepLinks {
  let latest = deepLinkOf(argv)
  let show = (route?: string) => {
    latest = route ?? latest
  }
  app.on('second-instance', (_event, others) => show(deepLinkOf(others)))
  app.on('open-url', (event, url) => {
    event.preventDefault()
    const route = routeOfDeepLink(url)
    if (route === undefined) log.warn({ url }, 'deep link refused')
    show(route)
  })
  return {
    follow(next) {
      show = next
      show(latest)
    },
  }
}
