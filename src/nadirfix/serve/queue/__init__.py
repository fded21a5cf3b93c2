"""Photos that wait: admission control, the work queue and its workers."""
