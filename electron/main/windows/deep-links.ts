import { z } from 'zod'
import { type ElectronSlice } from '../electron-slice.ts'
import { deepLinkOf, routeOfDeepLink } from './deep-link.ts'

export interface DeepLinks {
  /** Calls `show` at once with the target of the latest earlier link, if any, and then with the target of each new link. */
  follow(acts: LinkActs): void
}

export interface LinkActs {
  show(route?: string): void
  /** Called when the user has started the app again with a sign-in link. */
  signIn(link: string): void
}

/** Message of a second start to the first one. Only programs of the same user can send it. */
const SecondStart = z.object({ signInLink: z.string().max(2048) })
export type SecondStart = z.infer<typeof SecondStart>

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
  let signInLink: string | undefined
  let acts: LinkActs = {
    show: route => void (latest = route ?? latest),
    signIn: link => void (signInLink = link),
  }
  app.on('second-instance', (_event, others, _folder, data) => {
    const told = SecondStart.safeParse(data)
    if (told.success) acts.signIn(told.data.signInLink)
    else acts.show(deepLinkOf(others))
  })
  app.on('open-url', (event, url) => {
    event.preventDefault()
    const route = routeOfDeepLink(url)
    if (route === undefined) log.warn({ url }, 'deep link refused')
    acts.show(route)
  })
  return {
    follow(next) {
      acts = next
      acts.show(latest)
      if (signInLink !== undefined) acts.signIn(signInLink)
    },
  }
}
