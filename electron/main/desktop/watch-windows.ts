import { askUnresponsive } from '../faults/ask-unresponsive.ts'
import { isQuestionUrl } from '../security/console-origin.ts'
import { guardContents } from '../security/guard-contents.ts'
import { type Links } from '../security/open-links.ts'
import { type AppStatusKeeper } from '../windows/app-status.ts'
import { askBeforeUnload } from '../windows/ask-before-unload.ts'
import { offerContextMenu } from '../windows/context-menu.ts'
import { type Leave } from '../windows/leave.ts'
import { reviveAfterCrash } from '../windows/revive-page.ts'
import { type DesktopDeps, type OnUnexpected } from './desktop-deps.ts'
import { type Windows } from './create-windows.ts'
import { type PageWork } from './page-work.ts'

interface Parts extends Windows {
  readonly work: PageWork
  readonly status: AppStatusKeeper
  readonly links: Links
  readonly leave: Leave
  readonly onUnexpected: OnUnexpected
}

/** Guards every window from its first moment, and follows what happens to its page. */
export function watchWindows(deps: DesktopDeps, parts: Parts): void {
  const { electron, questions, language, log } = deps
  const { windows, pageWindows, work, status, links, leave, onUnexpected } = parts
  const { app } = electron
  const { ask } = questions
  app.on('web-contents-created', (_event, contents) => {
    guardContents(contents, { links, preload: deps.preload, pageWindows, log })
    windows.adopt(contents)
    reviveAfterCrash(contents, { electron, ask, language, log })
    askUnresponsive(contents, { ask, language, log })
    offerContextMenu(contents, { electron, language })
    // A reloaded page has lost its terminals; tunnels do not belong to the page and stay.
    const pageGone = () => {
      work.terminals.closePage(contents.id)
      status.pageGone(contents.id)
    }
    contents.on('did-navigate', (_navigated, url) => {
      pageGone()
      // A reload means that the user tries again.
      if (!isQuestionUrl(url)) deps.proxySignIns.forgetCancelled()
    })
    contents.on('destroyed', pageGone)
  })
  app.on('browser-window-created', (_event, window) =>
    askBeforeUnload(window, { questions, isEnding: () => leave.isEnding, language, onUnexpected }),
  )
}
