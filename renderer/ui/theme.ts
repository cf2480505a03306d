import { type ThemeDefinition } from 'vuetify'

/**
 * Sea and paper: a deep petrol for actions, ink for text, warm signals for what needs attention. Every pair of text and background below
 * has a contrast of at least 4.5 to 1 (WCAG 2.2 AA).
 */
export const light: ThemeDefinition = {
  dark: false,
  colors: {
    background: '#f3f6f7',
    surface: '#ffffff',
    'surface-bright': '#ffffff',
    'surface-light': '#eaf0f1',
    'surface-variant': '#41535a',
    'on-surface-variant': '#f3f6f7',
    primary: '#0b6b78',
    'on-primary': '#ffffff',
    secondary: '#3f5866',
    'on-secondary': '#ffffff',
    success: '#166136',
    'on-success': '#ffffff',
    warning: '#7d4700',
    'on-warning': '#ffffff',
    error: '#b3261e',
    'on-error': '#ffffff',
    // For shapes only: too light for text.
    caution: '#c77700',
    info: '#1f5fae',
    'on-info': '#ffffff',
    rail: '#0c2a33',
    'on-rail': '#dbe9ec',
    'on-background': '#142127',
    'on-surface': '#142127',
  },
  variables: {
    'border-color': '#10313b',
    'border-opacity': 0.13,
    'high-emphasis-opacity': 0.95,
    'medium-emphasis-opacity': 0.72,
  },
}

export const dark: ThemeDefinition = {
  dark: true,
  colors: {
    background: '#0c1418',
    surface: '#141f25',
    'surface-bright': '#24323a',
    'surface-light': '#1c2a31',
    'surface-variant': '#b9cad1',
    'on-surface-variant': '#0c1418',
    primary: '#6fd0dc',
    'on-primary': '#00343b',
    secondary: '#a9c4d1',
    'on-secondary': '#10303d',
    success: '#6fd69b',
    'on-success': '#00391c',
    warning: '#f2b866',
    'on-warning': '#432b00',
    error: '#ff9b92',
    'on-error': '#5f0f0a',
    caution: '#f2b866',
    info: '#96c1ff',
    'on-info': '#06305f',
    rail: '#081014',
    'on-rail': '#cfe0e5',
    'on-background': '#e4edf0',
    'on-surface': '#e4edf0',
  },
  variables: {
    'border-color': '#d3e6ec',
    'border-opacity': 0.14,
    'high-emphasis-opacity': 0.96,
    'medium-emphasis-opacity': 0.74,
  },
}
