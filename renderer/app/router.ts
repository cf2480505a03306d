import { createRouter, createWebHashHistory, type Router, type RouteRecordRaw } from 'vue-router'
import { type Role } from '#manager/contract'
import { useAccount } from '../data/account/useAccount.ts'
import { t } from '../words/en/account.ts'
import { useNotifications } from '../ui/useNotifications.ts'
import { showPageTitles, type PageTitle } from './page-title.ts'

declare module 'vue-router' {
  interface RouteMeta {
    /** Reachable without signing in. */
    readonly open?: boolean
    /** Fills the window: no rail, no top bar. */
    readonly bare?: boolean
    /** A component that belongs to one address: another address, also in the same tab, makes it anew. */
    readonly perAddress?: boolean
    /** Title of the browser tab; a page may set a more precise one. */
    readonly title?: PageTitle | (() => string)
    /** The lowest role that may use the page; administration only. */
    readonly access?: Role
  }
}

const routes: RouteRecordRaw[] = [
  { path: '/', redirect: '/summary' },
  {
    path: '/sign-in',
    name: 'sign-in',
    component: () => import('../features/account/SignInPage.vue'),
    meta: { open: true, bare: true, title: 'signIn' },
  },
  {
    path: '/sign-in-code',
    component: () => import('../features/account/SignInCodePage.vue'),
    meta: { open: true, bare: true, title: 'signInCode' },
  },
  {
    path: '/start',
    name: 'start',
    component: () => import('../features/endpoint/StartPage.vue'),
    meta: { open: true, bare: true, title: 'start' },
  },
  {
    path: '/sign-up',
    component: () => import('../features/account/SignUpPage.vue'),
    meta: { open: true, bare: true, title: 'signUp' },
  },
  {
    path: '/forgot-password',
    component: () => import('../features/account/ForgotPasswordPage.vue'),
    meta: { open: true, bare: true, title: 'forgotPassword' },
  },
  {
    path: '/reset-password',
    component: () => import('../features/account/ResetPasswordPage.vue'),
    meta: { open: true, bare: true, title: 'newPassword' },
  },
  {
    path: '/verify',
    component: () => import('../features/account/VerifyPage.vue'),
    meta: { open: true, bare: true, title: 'confirmAddress' },
  },
  {
    path: '/summary',
    name: 'summary',
    component: () => import('../features/summary/SummaryPage.vue'),
    meta: { title: 'summary' },
  },
  {
    path: '/sessions',
    name: 'sessions',
    component: () => import('../features/sessions/SessionsPage.vue'),
    meta: { title: 'sessions' },
    children: [
      {
        path: ':id',
        name: 'session',
        component: () => import('../features/detail/SessionDetail.vue'),
        props: true,
        meta: { title: 'session' },
      },
    ],
  },
  {
    path: '/logs',
    name: 'logs',
    component: () => import('../features/logs/LogsPage.vue'),
    meta: { title: 'logs' },
  },
  {
    path: '/data',
    name: 'data',
    component: () => import('../features/folders/FoldersPage.vue'),
    meta: { title: 'folders' },
  },
  {
    path: '/data/:folder/:path*',
    name: 'explorer',
    component: () => import('../features/files/explorer/ExplorerPage.vue'),
    meta: { title: 'files' },
  },
  {
    path: '/statistics',
    name: 'statistics',
    component: () => import('../features/statistics/StatisticsPage.vue'),
    meta: { title: 'statistics' },
  },
  {
    path: '/information',
    name: 'information',
    component: () => import('../features/information/InformationPage.vue'),
    meta: { title: 'information' },
  },
  {
    path: '/account',
    name: 'account',
    component: () => import('../features/account/AccountPage.vue'),
    meta: { title: 'account' },
  },
  {
    path: '/tunnels',
    name: 'tunnels',
    component: () => import('../features/apps/TunnelsPage.vue'),
    meta: { title: 'tunnels' },
  },
  {
    path: '/preferences',
    name: 'preferences',
    component: () => import('../features/preferences/PreferencesPage.vue'),
    meta: { title: 'preferences' },
  },
  {
    path: '/terminal/:id',
    name: 'terminal',
    component: () => import('../features/terminal/TerminalPage.vue'),
    props: ({ params: { id }, query: { kernel } }) => ({ id, kernel: typeof kernel === 'string' ? kernel : undefined }),
    meta: { bare: true, perAddress: true, title: 'terminal' },
  },
  {
    path: '/admin/:path(.*)*',
    name: 'administration',
    component: () => import('./NotFoundPage.vue'),
  },
  {
    path: '/:path(.*)*',
    name: 'not-found',
    component: () => import('./NotFoundPage.vue'),
    meta: { title: 'notFound' },
  },
]

/** The router with hash history: a sign-in ticket in the fragment reaches no server, and the files work below any base URL. */
export function createPageRouter(isDesktop: boolean): Router {
  const router = createRouter({ history: createWebHashHistory(), routes })
  router.beforeEach(async to => {
    // In the desktop app the start page is shown before any manager is known.
    if (to.name === 'start') return isDesktop || { path: '/' }
    const account = useAccount()
    if (account.state === 'unknown') await account.begin()
    const { local, ...query } = to.query
    if (account.state === 'signed_in' && typeof local === 'string') {
      const isProven = await account.proveLocal(local).catch(() => false)
      if (!isProven) useNotifications().info(t('linkTooOld'))
      return { path: to.path, query, replace: true }
    }
    if (to.meta.open || account.state !== 'signed_out') return true
    return { name: 'sign-in', query: to.fullPath === '/summary' ? {} : { next: to.fullPath } }
  })
  // The pages of administration, with their addresses and texts, are loaded when the first of them is opened.
  router.beforeEach(async to => {
    if (to.name !== 'administration') return true
    const { addAdminPages } = await import('../features/admin/add-pages.ts')
    await addAdminPages(router)
    return { path: to.path, query: to.query, replace: true }
  })
  showPageTitles(router)
  followEarly(router)
  return router
}

/**
 * The router follows the address only once its first page has loaded, and then overwrites the address with that page's. An address that was
 * entered meanwhile is opened afterwards.
 */
function followEarly(router: Router): void {
  let entered: string | undefined
  const stop = router.options.history.listen(to => {
    entered = to
  })
  const follow = () => {
    stop()
    if (entered !== undefined) void router.replace(entered)
  }
  router.isReady().then(follow, follow)
}
