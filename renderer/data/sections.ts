import {
  mdiAccountOutline,
  mdiChartBar,
  mdiFolderMultipleOutline,
  mdiInformationOutline,
  mdiShieldCrownOutline,
  mdiTransitConnectionVariant,
  mdiTuneVariant,
  mdiViewDashboardOutline,
  mdiViewListOutline,
} from '@mdi/js'
import { type default as en, t } from '../words/en/sections.ts'

/** A page that the navigation and the command palette lead to. */
export interface Section {
  readonly to: string
  readonly label: keyof typeof en
  readonly icon: string
  /** Left out of the navigation, and reached by the account menu and the palette. */
  readonly hidden?: true
  /** Only for administrators. */
  readonly admin?: true
}

const SECTIONS: readonly Section[] = [
  { to: '/summary', label: 'summary', icon: mdiViewDashboardOutline },
  { to: '/sessions', label: 'sessions', icon: mdiViewListOutline },
  { to: '/data', label: 'data', icon: mdiFolderMultipleOutline },
  { to: '/statistics', label: 'statistics', icon: mdiChartBar },
  { to: '/account', label: 'account', icon: mdiAccountOutline },
  { to: '/admin', label: 'admin', icon: mdiShieldCrownOutline, admin: true },
  { to: '/tunnels', label: 'tunnels', icon: mdiTransitConnectionVariant, hidden: true },
  { to: '/preferences', label: 'preferences', icon: mdiTuneVariant, hidden: true },
  { to: '/information', label: 'information', icon: mdiInformationOutline, hidden: true },
]
/** The sections that a person may open. */
export const sectionsFor = (isAdmin: boolean): readonly Section[] =>
  SECTIONS.filter(({ admin }) => admin !== true || isAdmin)

export const sectionTitle = ({ label }: Section): string => t(label)
