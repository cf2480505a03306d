import { type ElectronSlice } from '../electron-slice.ts'
import { deepLinkOf, routeOfDeepLink } from './deep-link.ts'

export interface DeepLinks {
  /** From now on shows where links lead; at once what the latest of them led to, if there was one. */
  follow(show: (route?: string) => void): void
}

export interface DeepLinksDeps {
  readonly app: Pick<ElectronSlice['app'], 'on'>
  readonly argv: readonly string[]
  readonly log: { warn(detail: object, message: string): void }
}

/**
 * Hears the links of the operating system, of this start and of later ones. Listen before Electron is ready: macOS tells of the
 * link that started the app by then.
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
