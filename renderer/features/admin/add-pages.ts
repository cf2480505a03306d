import { type Router } from 'vue-router'
import { addAdminTexts } from '../../words/admin-texts.ts'
import { ADMIN_PARTS } from './pages.ts'
import { t as titleOf } from '../../words/en/admin-titles.ts'

/** Adds the addresses below `/admin` to the router, replacing the one that loads this file. */
export async function addAdminPages(router: Router): Promise<void> {
  if (!router.hasRoute('administration')) return
  await addAdminTexts()
  if (!router.hasRoute('administration')) return
  router.removeRoute('administration')
  router.addRoute({
    path: '/admin',
    component: () => import('./AdminFrame.vue'),
    redirect: '/admin/overview',
    children: ADMIN_PARTS.flatMap(({ pages }) =>
      pages.map(({ path, label, access, load }) => ({
        path: `/admin${path}`,
        name: `admin${path}`,
        component: load,
        props: true,
        meta: { title: () => titleOf(label), access },
      })),
    ),
  })
}
