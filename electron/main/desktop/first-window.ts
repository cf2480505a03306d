import { type ChosenServer } from '../server/chosen-server.ts'
import { type ConsoleWindows } from '../windows/console-windows.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop-deps.ts'

interface Parts {
  readonly windows: ConsoleWindows
  readonly server: ChosenServer
  readonly onUnexpected: OnUnexpected
}

/** Shows the first window, unless the app starts in the background, and later the windows that links and further starts request. */
export function showFirstWindow(
  { links, startsInBackground }: Pick<DesktopDeps, 'links' | 'startsInBackground'>,
  { windows, server, onUnexpected }: Parts,
): void {
  // The page has nothing else to show before the first choice, and until Berth on this computer answers.
  const beginning = server.choice()
  const start = beginning === null || beginning.kind === 'embedded' ? '/start?then=console' : undefined
  let isHidden = startsInBackground
  links.follow({
    show(route) {
      const target = route ?? (server.connector.known ? undefined : start)
      if (isHidden && route === undefined) windows.hide(target)
      else windows.show(target)
      isHidden = false
    },
    signIn(link) {
      windows.show()
      server.signInAt(link).catch((error: unknown) => onUnexpected('sign-in link', error))
    },
  })
}
