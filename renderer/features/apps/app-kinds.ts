import {
  mdiApplicationOutline,
  mdiChartLine,
  mdiConsole,
  mdiFolderNetworkOutline,
  mdiLanConnect,
  mdiMicrosoftVisualStudioCode,
  mdiMonitor,
  mdiNotebookOutline,
} from '@mdi/js'
import { type App, forwardedPort, isWebApp, type Session } from '#manager/contract'
import { t } from '../../words/en/apps.ts'

/** How an app is opened: a page of its own, our terminal, our SSH dialog, or a bare port for a client program. */
export type AppKind = 'http' | 'terminal' | 'ssh' | 'tcp'

export interface AppCard {
  readonly app: App
  readonly kind: AppKind
  readonly icon: string
  /** The purpose of the app, in one line. */
  readonly hint: string
}

/** Apps that every session has, even if its image does not list them. */
const BUILT_IN: readonly App[] = [
  { name: 'terminal', title: 'Terminal', protocol: 'tcp', path: '/' },
  { name: 'sshd', title: 'SSH / SFTP', protocol: 'tcp', path: '/' },
]

type Hint = `hint${string}` & Parameters<typeof t>[0]
const LOOKS: readonly { readonly match: RegExp; readonly icon: string; readonly hint: Hint }[] = [
  { match: /^terminal$/, icon: mdiConsole, hint: 'hintTerminal' },
  { match: /^sshd$/, icon: mdiFolderNetworkOutline, hint: 'hintSsh' },
  { match: /jupyterlab/, icon: mdiNotebookOutline, hint: 'hintJupyterLab' },
  { match: /jupyter|notebook/, icon: mdiNotebookOutline, hint: 'hintNotebook' },
  { match: /code|vscode/, icon: mdiMicrosoftVisualStudioCode, hint: 'hintCode' },
  { match: /tensorboard|mlflow|wandb/, icon: mdiChartLine, hint: 'hintCharts' },
  { match: /vnc|desktop|rdp/, icon: mdiMonitor, hint: 'hintDesktop' },
]

export function appCards(session: Pick<Session, 'apps'>): AppCard[] {
  const missing = BUILT_IN.filter(built => !session.apps.some(app => app.name === built.name))
  const cards = [...session.apps, ...missing].map(app => ({ app: named(app), kind: kindOf(app), ...lookOf(app) }))
  // Web pages first, because people mostly want them; then the terminal, SSH, and bare ports.
  const order: readonly AppKind[] = ['http', 'terminal', 'ssh', 'tcp']
  return cards.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
}

/** The card of a port that the user opens by its number, from the name of its app. @returns undefined if it names no port */
export function portCard(appName: string): AppCard | undefined {
  const app = forwardedPort(appName)
  return app && { app: { ...app, title: t('port', { port: app.port }) }, kind: kindOf(app), ...lookOf(app) }
}

/** Built-in apps have translated names; other apps have the name that their image gives. */
function named(app: App): App {
  if (app.name === 'sshd') return { ...app, title: t('sshAndSftp') }
  return app.name === 'terminal' ? { ...app, title: t('terminal') } : app
}

function kindOf(app: App): AppKind {
  if (app.name === 'terminal') return 'terminal'
  if (app.name === 'sshd') return 'ssh'
  return isWebApp(app) ? 'http' : 'tcp'
}

/** A program of the user's computer that shows a graphical desktop. */
export type Viewer = 'vnc' | 'rdp'

/** The viewer for an app that is a bare port; null if other programs use the port. A web app needs no viewer. */
export function viewerOf(app: Pick<App, 'name' | 'protocol'>): Viewer | null {
  if (isWebApp(app)) return null
  if (/rdp/.test(app.name)) return 'rdp'
  return /vnc/.test(app.name) ? 'vnc' : null
}

function lookOf(app: App): { icon: string; hint: string } {
  const known = LOOKS.find(({ match }) => match.test(app.name))
  const { icon, hint } = known ?? otherLook(app)
  return { icon, hint: t(hint) }
}

function otherLook(app: App): { icon: string; hint: Hint } {
  return isWebApp(app) ? { icon: mdiApplicationOutline, hint: 'hintWeb' } : { icon: mdiLanConnect, hint: 'hintPort' }
}
