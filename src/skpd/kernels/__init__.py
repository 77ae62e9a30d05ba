"""What must be compiled: products with the data, row passes and projections."""

from ._kernels import (
    GeneralizedHingeLoss,
    HingeLoss,
    LogisticLoss,
    Matrix,
    ResidualLoss,
    block_coordinate_descent,
    compensated_dot,
    coordinate_descent,
    principal_submatrix,
    project_box_hyperplane,
    project_l1_ball,
    project_simplex,
    sparse_group_dual_norms,
    step_on_support,
)

__all__ = [
    "GeneralizedHingeLoss",
    "HingeLoss",
    "LogisticLoss",
    "Matrix",
    "ResidualLoss",
    "block_coordinate_descent",
    "compensated_dot",
    "coordinate_descent",
    "principal_submatrix",
    "project_box_hyperplane",
    "project_l1_ball",
    "project_simplex",
    "sparse_group_dual_norms",
    "step_on_support",
]
