"""Experiments for researchers: published techniques, tables of the paper, ablations.

It imports train and all packages below it; only cli imports it.

Modules for other packages: ablation, agreement, baseline_runs, bisect, bm25_runs, bundle, evidence,
feature_ablation, function_weights, paper.reranking, paper.workspace, presence, pretraining,
projects, reliability, renames, report_parts, suspects, truncation.
"""
