import {
  mdiAccountMultipleOutline,
  mdiAccountSyncOutline,
  mdiChartBox,
  mdiClipboardTextClockOutline,
  mdiCogOutline,
  mdiDatabaseOutline,
  mdiDomain,
  mdiEmailOutline,
  mdiFolderAccountOutline,
  mdiHumanQueue,
  mdiImageMultipleOutline,
  mdiInformationOutline,
  mdiKeyOutline,
  mdiLoginVariant,
  mdiServer,
  mdiServerNetwork,
  mdiShapeOutline,
  mdiSpeedometer,
  mdiStethoscope,
  mdiViewDashboardOutline,
  mdiViewListOutline,
  mdiWebhook,
  mdiWrenchOutline,
} from '@mdi/js'
import { type Component } from 'vue'
import { type default as titles } from '../../words/en/admin-titles.ts'

/** Lowest role for a page of administration. The manager enforces the same itself. */
export type AdminAccess = 'domain_admin' | 'superadmin'

export interface AdminPageEntry {
  readonly path: string
  readonly label: keyof typeof titles
  readonly icon: string
  readonly access: AdminAccess
  readonly load: () => Promise<{ readonly default: Component }>
  /** Set for the page of a single thing, which is not in the list of pages. */
  readonly below?: true
}

export interface AdminPart {
  readonly label: keyof typeof titles
  readonly pages: readonly AdminPageEntry[]
}

/** The pages of administration, in the order of their list. */
export const ADMIN_PARTS: readonly AdminPart[] = [
  {
    label: 'partOverview',
    pages: [
      {
        path: '/overview',
        label: 'overview',
        icon: mdiViewDashboardOutline,
        access: 'domain_admin',
        load: () => import('./overview/OverviewPage.vue'),
      },
      {
        path: '/sessions',
        label: 'sessions',
        icon: mdiViewListOutline,
        access: 'domain_admin',
        load: () => import('./sessions/SessionsPage.vue'),
      },
      {
        path: '/queue',
        label: 'queue',
        icon: mdiHumanQueue,
        access: 'domain_admin',
        load: () => import('./sessions/QueuePage.vue'),
      },
      {
        path: '/usage',
        label: 'usage',
        icon: mdiChartBox,
        access: 'domain_admin',
        load: () => import('./usage/UsagePage.vue'),
      },
      {
        path: '/usage/month',
        label: 'month',
        icon: mdiChartBox,
        access: 'domain_admin',
        load: () => import('./usage/MonthPage.vue'),
        below: true,
      },
      {
        path: '/agents',
        label: 'agents',
        icon: mdiServerNetwork,
        access: 'superadmin',
        load: () => import('./agents/AgentsPage.vue'),
      },
      {
        path: '/agents/:id',
        label: 'agent',
        icon: mdiServerNetwork,
        access: 'superadmin',
        load: () => import('./agents/AgentPage.vue'),
        below: true,
      },
      {
        path: '/resource-groups',
        label: 'groups',
        icon: mdiServer,
        access: 'superadmin',
        load: () => import('./limits/GroupsPage.vue'),
      },
      {
        path: '/resource-groups/access',
        label: 'access',
        icon: mdiServer,
        access: 'superadmin',
        load: () => import('./limits/AccessPage.vue'),
        below: true,
      },
      {
        path: '/images',
        label: 'images',
        icon: mdiImageMultipleOutline,
        access: 'superadmin',
        load: () => import('./images/ImagesPage.vue'),
      },
      {
        path: '/registries',
        label: 'registries',
        icon: mdiDatabaseOutline,
        access: 'superadmin',
        load: () => import('./images/RegistriesPage.vue'),
      },
    ],
  },
  {
    label: 'partPeople',
    pages: [
      {
        path: '/users',
        label: 'users',
        icon: mdiAccountMultipleOutline,
        access: 'domain_admin',
        load: () => import('./users/UsersPage.vue'),
      },
      {
        path: '/users/:id',
        label: 'user',
        icon: mdiAccountMultipleOutline,
        access: 'domain_admin',
        load: () => import('./users/UserPage.vue'),
        below: true,
      },
      {
        path: '/invitations',
        label: 'invitations',
        icon: mdiEmailOutline,
        access: 'domain_admin',
        load: () => import('./users/InvitationsPage.vue'),
      },
      {
        path: '/credentials',
        label: 'credentials',
        icon: mdiKeyOutline,
        access: 'domain_admin',
        load: () => import('./users/CredentialsPage.vue'),
      },
      {
        path: '/sign-in-providers',
        label: 'signInProviders',
        icon: mdiLoginVariant,
        access: 'superadmin',
        load: () => import('./sign-in/SignInProvidersPage.vue'),
      },
      {
        path: '/scim-tokens',
        label: 'scimTokens',
        icon: mdiAccountSyncOutline,
        access: 'domain_admin',
        load: () => import('./sign-in/ScimTokensPage.vue'),
      },
      {
        path: '/projects',
        label: 'projects',
        icon: mdiFolderAccountOutline,
        access: 'domain_admin',
        load: () => import('./limits/ProjectsPage.vue'),
      },
      {
        path: '/domains',
        label: 'domains',
        icon: mdiDomain,
        access: 'superadmin',
        load: () => import('./limits/DomainsPage.vue'),
      },
      {
        path: '/policies',
        label: 'policies',
        icon: mdiSpeedometer,
        access: 'domain_admin',
        load: () => import('./limits/PoliciesPage.vue'),
      },
      {
        path: '/presets',
        label: 'presets',
        icon: mdiShapeOutline,
        access: 'superadmin',
        load: () => import('./limits/PresetsPage.vue'),
      },
    ],
  },
  {
    label: 'partSystem',
    pages: [
      {
        path: '/settings',
        label: 'settings',
        icon: mdiCogOutline,
        access: 'superadmin',
        load: () => import('./system/SettingsPage.vue'),
      },
      {
        path: '/webhooks',
        label: 'webhooks',
        icon: mdiWebhook,
        access: 'domain_admin',
        load: () => import('./webhooks/WebhooksPage.vue'),
      },
      {
        path: '/audit',
        label: 'audit',
        icon: mdiClipboardTextClockOutline,
        access: 'domain_admin',
        load: () => import('./system/AuditPage.vue'),
      },
      {
        path: '/maintenance',
        label: 'system',
        icon: mdiWrenchOutline,
        access: 'superadmin',
        load: () => import('./system/MaintenancePage.vue'),
      },
      {
        path: '/diagnostics',
        label: 'diagnostics',
        icon: mdiStethoscope,
        access: 'superadmin',
        load: () => import('./system/DiagnosticsPage.vue'),
      },
      {
        path: '/about',
        label: 'about',
        icon: mdiInformationOutline,
        access: 'superadmin',
        load: () => import('./system/AboutPage.vue'),
      },
    ],
  },
]
